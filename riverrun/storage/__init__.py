"""Named blobs behind one small protocol: read, conditional create, list, delete.

Filled by the checkpointing work; the place is reserved so that the import rules hold from the start.
"""
