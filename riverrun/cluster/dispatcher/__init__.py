"""The front door of a JobManager: which jobs there are, were, and what can be asked of them."""
