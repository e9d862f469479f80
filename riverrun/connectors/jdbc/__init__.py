"""Databases: tables as sinks, sources and places to look things up, for PostgreSQL and SQLite.

connection    JdbcConnectionOptions: an address, read without connecting
dialect       what differs between databases; postgresql and sqlite are the two that there are
session       a connection that comes back after it was lost
sink          JdbcSink: at least once (writer), or exactly once with a marker table (epochs, committer)
source        JdbcSource: tables and queries in parallel parts, resumed inside a part
lookup        JdbcLookupFunction: asynchronous, batched, cached
"""
