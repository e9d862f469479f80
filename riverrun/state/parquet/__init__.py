"""State in an open format: Parquet files that any tool reads, as savepoints have them."""
