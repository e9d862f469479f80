"""Rows with made-up values: what each field may hold, and arrays of such values from their indices."""
