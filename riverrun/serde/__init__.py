"""Type information, rows, run codecs (Arrow and pickle), type inference and the stable key hash."""
