"""What each operation of the REST interface does: one module for each part of the path."""
