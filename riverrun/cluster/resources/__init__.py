"""Whose the slots of the Spark application are: executors as task managers, and jobs that need room."""
