"""How long a record takes from the source to the sink, on each system."""
