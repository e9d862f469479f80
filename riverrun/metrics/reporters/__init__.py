"""Ways out for metrics: Prometheus, JSON lines, OpenTelemetry."""
