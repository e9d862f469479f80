"""High availability of the JobManager: who leads, which jobs there are, and what a deposed leader cannot do."""
