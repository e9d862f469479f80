"""How a savepoint is put together: rows in, sorted by key group, files out, `_metadata` last."""
