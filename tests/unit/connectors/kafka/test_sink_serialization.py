"""Records become messages: topics, keys, values, headers, partitions, times."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun.api.serialization import SerializationSchema, SimpleStringSchema
from riverrun.connectors.kafka.sink_messages import MessageRun
from riverrun.connectors.kafka.sink_serialization import (
    FixedPartitioner,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from riverrun.core.errors import ProgramError, UserCodeError


class FieldSchema(SerializationSchema):
    def __init__(self, field: int) -> None:
        self.field = field
        self.opened = False

    def open(self) -> None:
        self.opened = True

    def serialize(self, element: Any) -> bytes:
        return str(element[self.field]).encode()


class ByLength(KafkaPartitioner):
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int
    ) -> int:
        del key, value, topic
        return len(record) % partitions


class ByKind(KafkaTopicSelector):
    def apply(self, data: Any) -> str:
        return f"topic-{data[0]}"


def builder() -> KafkaRecordSerializationSchemaBuilder:
    return KafkaRecordSerializationSchema.builder()


def messages(
    schema: KafkaRecordSerializationSchema, records: list[Any], times: list[int] | None = None
) -> MessageRun:
    schema = pickle.loads(pickle.dumps(schema))
    schema.open(1, 2)
    return schema.messages(records, times, lambda _: 3)


def test_a_value_alone_is_a_message() -> None:
    schema = builder().set_topic("out").set_value_serialization_schema(SimpleStringSchema()).build()

    assert messages(schema, ["a", "b"]) == MessageRun("out", [b"a", b"b"])


def test_key_value_time_and_headers_come_from_the_record() -> None:
    schema = (
        builder()
        .set_topic("out")
        .set_key_serialization_schema(FieldSchema(0))
        .set_value_serialization_schema(FieldSchema(1))
        .set_header_provider(_headers)
        .build()
    )

    assert messages(schema, [("a", 1), ("b", 2)], [5, -1]) == MessageRun(
        "out",
        [b"1", b"2"],
        keys=[b"a", b"b"],
        timestamps=[5, 0],
        headers=[[("origin", b"a")], None],
    )


def _headers(record: Any) -> list[tuple[str, bytes]]:
    return [("origin", b"a")] if record[0] == "a" else []


@pytest.mark.parametrize("selector", [ByKind(), ByKind().apply])
def test_a_selector_chooses_each_topic(selector: Any) -> None:
    schema = (
        builder()
        .set_topic_selector(selector)
        .set_value_serialization_schema(FieldSchema(1))
        .build()
    )

    assert schema.topic is None
    assert messages(schema, [("x", 1), ("y", 2)]).topics == ["topic-x", "topic-y"]


def test_a_partitioner_chooses_each_partition() -> None:
    schema = (
        builder()
        .set_topic("out")
        .set_value_serialization_schema(SimpleStringSchema())
        .set_partitioner(ByLength())
        .build()
    )

    assert messages(schema, ["", "a", "ab", "abc"]).partitions == [0, 1, 2, 0]


def test_the_fixed_partitioner_gives_a_subtask_one_partition() -> None:
    schema = (
        builder()
        .set_topic("out")
        .set_value_serialization_schema(SimpleStringSchema())
        .set_partitioner(FixedPartitioner())
        .build()
    )

    assert messages(schema, ["a", "b"]).partitions == [1, 1]


def test_a_partition_that_does_not_exist_is_refused_with_the_record() -> None:
    class Wrong(ByLength):
        def partition(self, *arguments: Any) -> int:
            del arguments
            return 3

    schema = KafkaRecordSerializationSchema("out", SimpleStringSchema(), partitioner=Wrong())

    with pytest.raises(
        UserCodeError, match=r"Wrong: chose partition 3 of topic 'out' for 'a'; expected 0 to 2"
    ):
        schema.messages(["a"], None, lambda _: 3)


class Gives(SerializationSchema):
    """Makes what no message can be made of."""

    def __init__(self, *made: Any) -> None:
        self.made = made

    def serialize(self, element: Any) -> bytes:
        raise NotImplementedError

    def serialize_run(self, elements: Sequence[Any]) -> list[Any]:
        return list(self.made)


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (
            KafkaRecordSerializationSchema("out", Gives(b"1", "2")),
            "value schema Gives made the str '2' of 'b'; expected bytes or None",
        ),
        (
            KafkaRecordSerializationSchema("out", SimpleStringSchema(), Gives(1, None)),
            "key schema Gives made the int 1 of 'a'; expected bytes",
        ),
        (
            KafkaRecordSerializationSchema("out", Gives(b"1")),
            "made 1 of 2 records; expected one for each",
        ),
        (
            builder()
            .set_topic_selector(lambda _: None)  # type: ignore[arg-type,return-value]
            .set_value_serialization_schema(SimpleStringSchema())
            .build(),
            "topic selector chose None for 'a'; expected a name",
        ),
        (
            KafkaRecordSerializationSchema(
                "out",
                SimpleStringSchema(),
                headers=lambda _: [("a", "b")],  # type: ignore[list-item]
            ),
            "header provider gave .* for 'a'; expected pairs",
        ),
    ],
)
def test_what_could_never_be_sent_is_refused_before_it_is_in_a_checkpoint(
    schema: KafkaRecordSerializationSchema, complaint: str
) -> None:
    with pytest.raises(UserCodeError, match=complaint):
        schema.messages(["a", "b"], None, lambda _: 3)


def test_schemas_are_opened_in_the_worker() -> None:
    key, value = FieldSchema(0), FieldSchema(1)
    KafkaRecordSerializationSchema("out", value, key).open(0, 1)

    assert key.opened
    assert value.opened


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda b: b.build(), "no topic"),
        (lambda b: b.set_topic("a").build(), "no value schema"),
        (lambda b: b.set_topic(""), "expected a name"),
        (lambda b: b.set_topic("a").set_topic_selector(ByKind()), "has a topic already"),
        (lambda b: b.set_topic_selector("a"), "expected a KafkaTopicSelector"),
        (lambda b: b.set_key_serialization_schema(str), "expected a SerializationSchema"),
        (lambda b: b.set_value_serialization_schema(None), "expected a SerializationSchema"),
        (lambda b: b.set_header_provider("x"), "expected a function"),
        (lambda b: b.set_partitioner(len), "expected a KafkaPartitioner"),
    ],
)
def test_what_is_missing_or_wrong_is_said_when_it_is_built(build: Any, complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint):
        build(builder())
