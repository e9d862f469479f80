"""Kafka: sources that rewind and sinks that commit, on confluent-kafka."""
