"""The builder: PyFlink's names, and what is wrong said before anything connects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import ByteArraySchema, SimpleStringSchema
from riverrun.api.source import Boundedness
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.partition_discovery import MatchingTopics, NamedTopics
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from riverrun.connectors.kafka.source_consumer import consumer_properties
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.serde.types import Types
from tests.unit.connectors.kafka.fake_kafka import LATEST, building


def test_a_source_is_built_with_flink_s_defaults_and_can_be_pickled() -> None:
    source: KafkaSource = pickle.loads(pickle.dumps(building().build()))
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert source.get_produced_type() == Types.STRING()
    assert source.discovery.subscription == NamedTopics(("t",))
    assert source.discovery.interval_ms == 300_000
    assert source.discovery.stopping is None
    assert source.reading.commits_offsets
    assert source.reading.bad_records is BadRecords.FAIL


def test_everything_can_be_set() -> None:
    source = (
        KafkaSource.builder()
        .set_property("bootstrap.servers", "a:1")
        .set_topic_pattern("x.*")
        .set_starting_offsets(LATEST)
        .set_bounded(KafkaOffsetsInitializer.timestamp(5))
        .set_client_id_prefix("me")
        .set_value_only_deserializer(ByteArraySchema())
        .set_bad_records(BadRecords.SKIP)
        .set_properties({"fetch.max.wait.ms": "70", "isolation.level": "read_uncommitted"})
        .build()
    )
    assert source.get_boundedness() is Boundedness.BOUNDED
    assert source.get_produced_type() is None
    assert source.discovery.subscription == MatchingTopics("x.*")
    assert source.discovery.interval_ms is None
    assert source.reading.client_id_prefix == "me"
    assert not source.reading.commits_offsets
    assert source.reading.connection.properties["fetch.wait.max.ms"] == "70"


@pytest.mark.parametrize(("value", "expected"), [("250", 250.0), (-1, None), ("0", None)])
def test_the_interval_of_discovery_is_a_property(value: Any, expected: float | None) -> None:
    built = building().set_property("partition.discovery.interval.ms", value).build()
    assert built.discovery.interval_ms == expected


def test_a_bounded_source_looks_once_whatever_the_interval() -> None:
    builder = building().set_bounded(LATEST).set_property("partition.discovery.interval.ms", "250")
    assert builder.build().discovery.interval_ms is None


def test_consumers_keep_no_positions_of_their_own() -> None:
    builder = building().set_property("auto.offset.reset", "latest")
    found = consumer_properties(
        builder.build().reading.connection,
        client_id="me-1",
        bounded=False,
        on_error=lambda _: None,
        on_commit=lambda *_: None,
    )
    assert found["enable.auto.commit"] is False
    assert found["auto.offset.reset"] == "error"
    assert found["group.id"] == "group"
    assert found["client.id"] == "me-1"
    # How long closing waits for a commit while brokers are down.
    assert found["session.timeout.ms"] <= 3000


def test_java_s_properties_are_understood_or_refused_with_advice() -> None:
    jaas = 'PlainLoginModule required username="u" password="hidden";'
    built = building().set_property("sasl.jaas.config", jaas).build()
    assert built.reading.connection.properties["sasl.password"] == "hidden"
    assert "hidden" not in repr(built)
    with pytest.raises(ConfigError, match=r"ssl\.ca\.location"):
        building().set_property("ssl.truststore.location", "x.jks").build()
    with pytest.raises(ConfigError, match=r"KafkaSource.*no\.such\.property"):
        building().set_property("no.such.property", "1").build()


Build = Callable[[], Any]


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: KafkaSource.builder().build(), "nothing to read; call set_topics"),
        (lambda: KafkaSource.builder().set_topics("t").build(), "no deserializer"),
        (
            lambda: (
                KafkaSource.builder()
                .set_topics("t")
                .set_value_only_deserializer(SimpleStringSchema())
                .build()
            ),
            "no bootstrap servers",
        ),
        (lambda: building().set_topic_pattern("x"), "set_topic_pattern after set_topics"),
        (lambda: KafkaSourceBuilder().set_topics(), "expected names of topics"),
        (lambda: KafkaSourceBuilder().set_topics(["a"]), "expected names of topics"),  # type: ignore[arg-type]
        (lambda: KafkaSourceBuilder().set_topic_pattern("("), "no regular expression"),
        (lambda: KafkaSourceBuilder().set_partitions([]), "expected KafkaTopicPartition"),
        (lambda: KafkaSourceBuilder().set_partitions([("t", 0)]), "KafkaTopicPartition"),  # type: ignore[list-item]
        (lambda: building().set_starting_offsets("latest"), "KafkaOffsetsInitializer"),  # type: ignore[arg-type]
        (lambda: building().set_bounded(5), "set_bounded got 5"),  # type: ignore[arg-type]
        (lambda: building().set_unbounded(5), "set_unbounded got 5"),  # type: ignore[arg-type]
        (lambda: building().set_deserializer(SimpleStringSchema()), "set_value_only_deserializer"),  # type: ignore[arg-type]
        (lambda: building().set_bad_records("skip"), "set_bad_records got 'skip'"),  # type: ignore[arg-type]
        (
            lambda: building().set_property("partition.discovery.interval.ms", "soon").build(),
            "'soon'; expected milliseconds",
        ),
        (
            lambda: (
                KafkaSource.builder()
                .set_bootstrap_servers("a:1")
                .set_partitions([KafkaTopicPartition("t", 0)])
                .set_value_only_deserializer(SimpleStringSchema())
                .set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
                .build()
            ),
            "no group; call set_group_id",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_with_what_to_do(build: Build, text: str) -> None:
    with pytest.raises(ProgramError, match=text.replace("(", r"\(")):
        build()
