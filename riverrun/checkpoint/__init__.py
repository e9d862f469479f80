"""Checkpoint decisions (pure), the coordinator (shell), manifests, savepoints and garbage collection.

Filled by the checkpointing work; the place is reserved so that the import rules hold from the start.
"""
