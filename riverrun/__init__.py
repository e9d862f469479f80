"""Stateful stream processing in Python, executed by Apache Spark: the public names, nothing else."""

__version__ = "0.1.0"
