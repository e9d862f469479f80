"""Aggregates of columns: accumulators of many keys in arrays, and the keys they belong to."""
