"""State in dicts: the fastest backend, as large as memory."""
