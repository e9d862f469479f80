"""Sources read one after the other as if they were one: history first, then what comes live."""
