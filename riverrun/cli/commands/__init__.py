"""The commands of ``river``, one file each; ``riverrun.cli.main`` puts them together.

What only one command needs and takes long to import is imported in its function, so that every
command starts fast.
"""
