"""Files as sources and sinks: formats, splits, discovery; buckets, rolling, compaction."""
