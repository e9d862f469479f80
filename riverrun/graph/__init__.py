"""Operator specs, transformations, stream graph, job graph, execution graph and layers; all plain data."""
