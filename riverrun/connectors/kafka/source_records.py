"""How messages of Kafka become records: their values alone, or with key, headers and whereabouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.serialization import DeserializationSchema
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A message as the broker gave it."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    """Epoch milliseconds: when it was made, or appended, as the topic is configured."""
    key: bytes | None
    value: bytes | None
    """None: a tombstone, which says that the key is gone."""
    headers: tuple[tuple[str, bytes | None], ...] = ()


class KafkaRecordDeserializationSchema(ABC):
    """Makes records of whole messages."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Any:
        """The record of a message; None: there is none."""

    def open(self) -> None:  # noqa: B027  (an optional hook)
        """Prepare in the worker, before the first message: connections, compiled codecs."""

    def deserialize_run(self, records: Sequence[KafkaRecord]) -> list[Any]:
        """The record of each, None where there is none; override it when a run is cheaper than its parts.

        When it raises, the caller asks for the messages one by one to find the bad ones.
        """
        deserialize = self.deserialize
        return [deserialize(record) for record in records]

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records, where it is known."""
        return None

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """Of each message only its value."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ProgramError(
                f"KafkaRecordDeserializationSchema.value_only: got {deserialization_schema!r}; expected "
                f"a DeserializationSchema"
            )
        return ValueOnly(deserialization_schema)


class NullValue(ValueError):  # noqa: N818  (named after what it is)
    """A tombstone where a value is needed."""

    def __str__(self) -> str:
        return "the value is null; a KafkaRecordDeserializationSchema gets such messages too"


class ValueOnly(KafkaRecordDeserializationSchema):
    """Leaves the rest of a message alone, which is much faster."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self.schema = schema

    def open(self) -> None:
        self.schema.open()

    def deserialize(self, record: KafkaRecord) -> Any:
        return self.deserialize_value(record.value)

    def deserialize_value(self, value: bytes | None) -> Any:
        """The record of one value."""
        if value is None:
            raise NullValue
        return self.schema.deserialize(value)

    def deserialize_values(self, values: list[bytes]) -> list[Any]:
        """The record of each."""
        if None in values:
            raise NullValue
        return self.schema.deserialize_run(values)

    def get_produced_type(self) -> TypeInformation | None:
        return self.schema.get_produced_type()
