"""What a user calls: the environment, DataStream, KeyedStream, sinks and the job client.

Builds a graph and never runs one.
"""
