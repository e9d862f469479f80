"""Complex event processing: patterns, the NFA, translation to the DataStream graph.

Filled by the CEP work; the place is reserved so that the import rules hold from the start.
"""
