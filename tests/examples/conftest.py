"""Servers that some examples need."""

from tests.servers.kafka import kafka_broker

__all__ = ["kafka_broker"]
