"""Runs of messages to runs of records, with what becomes of messages that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source_records import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    ValueOnly,
)
from riverrun.core.errors import ExternalError, UserCodeError

if TYPE_CHECKING:
    from confluent_kafka import Message


@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of a run of messages."""

    values: list[Any]
    timestamps: list[int] | None
    """None: the messages have none."""
    dead_letters: Sequence[DeadLetter] = ()


class KafkaDecoder:
    """Decodes messages of one partition at a time.

    Args:
        schema: makes the records.
        policy: what becomes of messages that it refuses.
        count_bad: is told of each that is left out.
    """

    def __init__(
        self,
        schema: KafkaRecordDeserializationSchema,
        policy: BadRecords,
        count_bad: Callable[[], None],
    ) -> None:
        self._schema = schema
        self._policy = policy
        self._count_bad = count_bad
        # The usual case is worth its own way: no object is made for each message.
        self._run: Callable[[list[Any]], list[Any]]
        self._one: Callable[[Any], Any]
        self._is_value_only = isinstance(schema, ValueOnly)
        if isinstance(schema, ValueOnly):
            self._run, self._one = schema.deserialize_values, schema.deserialize_value
        else:
            self._run, self._one = schema.deserialize_run, schema.deserialize

    def decode(self, messages: list[Message]) -> Decoded:
        """The records of ``messages``, all of one partition.

        Raises:
            BadMessage: one is bad, and the policy is to fail.
            ExternalError: something that the schema needs has failed, whatever the policy.
        """
        timestamps: list[int] | None = [time for _, time in [m.timestamp() for m in messages]]
        if timestamps is not None and min(timestamps, default=0) < 0:
            timestamps = None  # from a client of before 0.10, or a topic that it wrote to
        inputs: list[Any] = (
            [m.value() for m in messages] if self._is_value_only else [_record(m) for m in messages]
        )
        try:
            values = self._run(inputs)
        except ExternalError:
            raise  # what a schema asks, such as a registry, is away: that is no fault of the messages
        except Exception:  # noqa: BLE001  (one of them is bad; which one is found out below)
            return self._one_by_one(messages, inputs, timestamps)
        if len(values) != len(inputs):
            raise UserCodeError(
                f"{type(self._schema).__name__}: its run of {len(inputs)} messages gave {len(values)} "
                f"records; expected one for each, None where there is none"
            )
        if any(map(is_, values, repeat(None))):
            if timestamps is not None:
                timestamps = [
                    t for value, t in zip(values, timestamps, strict=True) if value is not None
                ]
            values = [value for value in values if value is not None]
        return Decoded(values, timestamps)

    def _one_by_one(
        self, messages: list[Message], inputs: list[Any], timestamps: list[int] | None
    ) -> Decoded:
        values: list[Any] = []
        kept: list[int] = []
        letters: list[DeadLetter] = []
        for place, each in enumerate(inputs):
            try:
                value = self._one(each)
            except ExternalError:
                raise
            except Exception as error:
                origin, reason = _origin(messages[place]), f"{type(error).__name__}: {error}"
                if self._policy is BadRecords.FAIL:
                    raise BadMessage(origin, reason) from error
                self._count_bad()
                if self._policy is BadRecords.DEAD_LETTER:
                    letters.append(DeadLetter(origin, reason, messages[place].value()))
                continue
            if value is not None:
                values.append(value)
                kept.append(place)
        times = None if timestamps is None else [timestamps[place] for place in kept]
        return Decoded(values, times, letters)


def _record(message: Message) -> KafkaRecord:
    kind, time = message.timestamp()
    headers: Any = message.headers()
    key: Any = message.key()
    value: Any = message.value()
    return KafkaRecord(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp=time if kind else None,
        key=key,
        value=value,
        headers=tuple(headers) if headers else (),
    )


def _origin(message: Message) -> str:
    partition = KafkaTopicPartition(message.topic() or "", message.partition() or 0)
    return f"{partition} offset {message.offset()}"
