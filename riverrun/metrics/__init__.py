"""Counters, gauges, meters and histograms; metric groups and their scopes; reporters."""
