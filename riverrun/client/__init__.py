"""A JobManager seen from another process: its REST interface as Python objects."""
