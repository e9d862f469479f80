"""The in-process shell: the same tasks in one thread with a seeded scheduler and a virtual clock; no JVM."""
