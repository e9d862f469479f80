"""Sources and sinks for the outside world, one folder each, one optional extra each."""
