"""Tables of a lake: sinks that add data files to Delta and Iceberg tables, once for each checkpoint."""
