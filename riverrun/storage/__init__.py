"""Whole files behind one small protocol (read, create, list, delete), and the files of checkpoints in it."""
