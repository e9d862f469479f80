"""The ``river`` command."""
