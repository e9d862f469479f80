"""Operator specs, transformations, stream graph, job graph (chaining), execution graph and Spark layers; all plain data."""
