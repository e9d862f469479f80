"""The public test kit: manual clock, operator harness, leak checks."""
