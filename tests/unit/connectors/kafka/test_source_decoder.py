"""Messages to records: values alone, whole messages, and what becomes of bad ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.kafka.source_decoder import KafkaDecoder
from riverrun.connectors.kafka.source_records import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from riverrun.core.errors import ExternalError, ProgramError, UserCodeError
from tests.unit.connectors.kafka.fake_kafka import message


class Json(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        if record.value == b"bad":
            raise ValueError("spoilt")
        return None if record.value == b"none" else record


VALUES = [b"1", b"{", b"null", b"4", None, b"6"]


def messages(values: list[bytes | None]) -> list[Any]:
    return [message("t", 3, 100 + at, value, 10 * at) for at, value in enumerate(values)]


def decoder(policy: BadRecords, counted: list[int] | None = None) -> KafkaDecoder:
    schema = KafkaRecordDeserializationSchema.value_only(Json())
    counted = [] if counted is None else counted
    return KafkaDecoder(schema, policy, lambda: counted.append(1))


def test_values_come_with_the_messages_timestamps_and_none_is_no_record() -> None:
    decoded = decoder(BadRecords.FAIL).decode(messages([b"1", b"null", b"3"]))
    assert decoded.values == [1, 3]
    assert decoded.timestamps == [0, 20]


def test_a_bad_message_fails_with_topic_partition_and_offset() -> None:
    with pytest.raises(
        BadMessage, match=r"topic 't' partition 3 offset 101.*JSONDecodeError.*BadRecords"
    ):
        decoder(BadRecords.FAIL).decode(messages(VALUES))


def test_a_null_fails_with_topic_partition_and_offset() -> None:
    with pytest.raises(BadMessage, match=r"partition 3 offset 101.*the value is null"):
        decoder(BadRecords.FAIL).decode(messages([b"1", None]))


def test_bad_messages_are_left_out_and_counted() -> None:
    counted: list[int] = []
    decoded = decoder(BadRecords.SKIP, counted).decode(messages(VALUES))
    assert decoded.values == [1, 4, 6]
    assert decoded.timestamps == [0, 30, 50]
    assert not decoded.dead_letters
    assert len(counted) == 2


def test_bad_messages_become_dead_letters_with_the_reason() -> None:
    decoded = decoder(BadRecords.DEAD_LETTER).decode(messages(VALUES))
    assert decoded.values == [1, 4, 6]
    assert [letter.payload for letter in decoded.dead_letters] == [b"{", None]
    assert [letter.origin for letter in decoded.dead_letters] == [
        "topic 't' partition 3 offset 101",
        "topic 't' partition 3 offset 104",
    ]
    assert "JSONDecodeError" in decoded.dead_letters[0].reason
    assert "null" in decoded.dead_letters[1].reason


def test_whole_messages_have_everything() -> None:
    whole = KafkaDecoder(Whole(), BadRecords.FAIL, lambda: None)
    given = message("t", 3, 7, b"v", 99, key=b"k", headers=[("h", b"1"), ("h", None)])
    assert whole.decode([given]).values == [
        KafkaRecord("t", 3, 7, 99, b"k", b"v", (("h", b"1"), ("h", None)))
    ]
    tombstone = whole.decode([message("t", 3, 8, None)]).values[0]
    assert (tombstone.value, tombstone.key, tombstone.headers) == (None, None, ())
    assert whole.decode(messages([b"none"])).values == []


def test_whole_messages_can_be_bad_too() -> None:
    whole = KafkaDecoder(Whole(), BadRecords.DEAD_LETTER, lambda: None)
    decoded = whole.decode(messages([b"1", b"bad", b"none", None]))
    assert [record.value for record in decoded.values] == [b"1", None]
    assert decoded.timestamps == [0, 30]
    assert decoded.dead_letters[0].reason == "ValueError: spoilt"


def test_messages_without_timestamps_have_none() -> None:
    given = message("t", 0, 0, b"1", -1)
    assert decoder(BadRecords.FAIL).decode([given]).timestamps is None


class Shortening(Json):
    def deserialize_run(self, messages: Any) -> list[Any]:
        return []


def test_a_schema_that_loses_messages_of_a_run_is_told_so() -> None:
    schema = KafkaRecordDeserializationSchema.value_only(Shortening())
    with pytest.raises(UserCodeError, match="2 messages gave 0 records"):
        KafkaDecoder(schema, BadRecords.FAIL, lambda: None).decode(messages([b"1", b"2"]))


class Away(Json):
    def deserialize(self, message: bytes) -> Any:
        raise ExternalError("the registry is away")


@pytest.mark.parametrize("policy", list(BadRecords))
def test_what_is_no_fault_of_the_messages_fails_whatever_the_policy(policy: BadRecords) -> None:
    schema = KafkaRecordDeserializationSchema.value_only(Away())
    with pytest.raises(ExternalError, match="the registry is away"):
        KafkaDecoder(schema, policy, lambda: None).decode(messages([b"1", b"2"]))


def test_only_deserialization_schemas_make_values() -> None:
    with pytest.raises(ProgramError, match="expected a DeserializationSchema"):
        KafkaRecordDeserializationSchema.value_only(json.loads)  # type: ignore[arg-type]
