"""What connectors are made of: readers of many splits, queues of splits, optional packages."""
