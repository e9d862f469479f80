"""A real broker for all Kafka tests of a run."""

from tests.servers.kafka import kafka_broker

__all__ = ["kafka_broker"]
