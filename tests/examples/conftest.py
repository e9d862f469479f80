"""Servers that some examples need."""

from tests.servers.kafka import kafka_broker
from tests.servers.postgres import database, postgres

__all__ = ["database", "kafka_broker", "postgres"]
