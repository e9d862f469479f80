"""Table API and SQL: expressions, catalog, plan rules, translation to the DataStream graph.

Filled by the table work; the place is reserved so that the import rules hold from the start.
"""
