"""Text over plain TCP connections: read from one, written to one. For trying things out."""
