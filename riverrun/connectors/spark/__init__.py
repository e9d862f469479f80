"""Spark itself as a source and as a sink: DataFrames that are read, made, and handed over batch by batch."""
