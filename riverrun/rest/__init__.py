"""HTTP over the dispatcher's gateway: handlers, schemas, OpenAPI.

Filled by the cluster work; the place is reserved so that the import rules hold from the start.
"""
