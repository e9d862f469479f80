"""The JobManager put together: a Spark driver with a dispatcher, a ResourceManager and a REST interface."""
