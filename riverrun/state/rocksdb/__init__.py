"""Keyed state in an embedded RocksDB: state larger than memory, snapshots that upload new files only."""
