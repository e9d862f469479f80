"""The enumerator: the first look, later looks, who gets what, and what a checkpoint holds."""

from __future__ import annotations

import pytest

from riverrun.connectors.kafka.connection import KafkaUnreachable
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetsInitializer,
    OffsetsLookup,
    OffsetsNotFound,
)
from riverrun.connectors.kafka.partition_discovery import TopicNotFound
from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit, KafkaTopicPartition
from riverrun.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from riverrun.connectors.kafka.source_enumerator import KafkaEnumeratorState
from tests.unit.connectors.kafka.fake_kafka import (
    EARLIEST,
    LATEST,
    FakeBroker,
    FakeSource,
    building,
    fill,
)
from tests.unit.connectors.kafka.source_steps import SteppedSource


def pattern() -> KafkaSourceBuilder:
    builder = building()
    builder._subscription = None
    return builder.set_topic_pattern("t.*").set_property("partition.discovery.interval.ms", "50")


def names(stepped: SteppedSource) -> list[str]:
    return sorted(split.name for splits in stepped.assigned.values() for split in splits)


def test_partitions_go_round_the_readers() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 7)
    stepped = SteppedSource(FakeSource(building().build(), broker), 3)
    assert not names(stepped)
    stepped.run_calls()
    assert names(stepped) == [f"t-{index}" for index in range(7)]
    assert sorted(len(splits) for splits in stepped.assigned.values()) == [2, 2, 3]
    assert not stepped.told


def test_new_partitions_and_topics_are_read_from_their_first_record() -> None:
    broker = FakeBroker()
    (old,) = broker.create_topic("t", 1)
    fill(old, range(10))
    stepped = SteppedSource(FakeSource(pattern().set_starting_offsets(LATEST).build(), broker), 2)
    stepped.run_calls()
    assert stepped.calls[0].period_ms == 50
    fill(old, [10])
    broker.topics["t"].append(type(old)())
    fill(broker.topics["t"][1], [100, 101])
    fill(broker.create_topic("t2", 1)[0], [200])
    broker.create_topic("other", 1)
    stepped.run_calls()
    stepped.run_calls()
    assert names(stepped) == ["t-0", "t-1", "t2-0"]
    stepped.poll_until(lambda: len(stepped.values) == 4)
    assert sorted(map(int, stepped.values)) == [10, 100, 101, 200]


def test_a_source_with_an_end_does_not_look_again_and_tells_readers_so() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 1)
    stepped = SteppedSource(FakeSource(building().set_bounded(LATEST).build(), broker), 3)
    assert not stepped.told
    stepped.run_calls()
    assert stepped.told == {0, 1, 2}
    assert not stepped.calls


def test_with_an_end_and_an_interval_new_partitions_are_waited_for() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 1)
    built = pattern().set_unbounded(LATEST).build()
    stepped = SteppedSource(FakeSource(built, broker), 2)
    stepped.run_calls()
    assert not stepped.told
    assert stepped.calls


def test_the_end_is_found_with_the_beginning() -> None:
    broker = FakeBroker()
    (partition,) = broker.create_topic("t", 1)
    fill(partition, range(10))
    stepped = SteppedSource(FakeSource(building().set_bounded(LATEST).build(), broker))
    stepped.run_calls()
    fill(partition, range(10, 20))
    assert stepped.assigned[0] == [KafkaPartitionSplit("t", 0, 0, 10)]
    assert [int(value) for value in stepped.run_to_end()] == list(range(10))


def test_a_restored_source_that_looks_once_finds_the_topics_that_its_program_got_since() -> None:
    broker = FakeBroker()
    for name in ("t", "more"):
        fill(broker.create_topic(name, 1)[0], range(10))
    once = {"partition.discovery.interval.ms": 0}
    first = SteppedSource(FakeSource(building().set_properties(once).build(), broker))
    first.run_calls()
    assert names(first) == ["t-0"]
    both = building("t", "more").set_properties(once).build()
    rest = SteppedSource(FakeSource(both, broker), restore=first.checkpoint())
    rest.run_calls()
    assert names(rest) == ["more-0"]
    assert not rest.calls


def test_a_restored_enumerator_assigns_nothing_twice_at_any_parallelism() -> None:
    broker = FakeBroker()
    for partition in broker.create_topic("t", 4):
        fill(partition, range(10))
    source = FakeSource(pattern().build(), broker)
    first = SteppedSource(source, 2)
    first.run_calls()
    first.poll(3)
    fill(broker.create_topic("t-new", 1)[0], range(10))
    rest = SteppedSource(source, 3, restore=first.checkpoint())
    rest.run_calls()
    assert names(rest) == ["t-new-0"]
    rest.poll_until(lambda: len(first.values) + len(rest.values) == 50)
    assert sorted(first.values + rest.values) == sorted([str(n) for n in range(10)] * 5)


def test_partitions_whose_readers_are_not_there_are_kept_in_the_checkpoint() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 2)
    stepped = SteppedSource(FakeSource(building().build(), broker), 2)
    stepped.registered_readers.remove(1)
    stepped.run_calls()
    state = stepped.enumerator.snapshot_state(1)
    assert isinstance(state, KafkaEnumeratorState)
    assert len(state.assigned) == len(state.unassigned) == 1
    stepped.registered_readers.append(1)
    stepped.enumerator.add_reader(1)
    assert names(stepped) == ["t-0", "t-1"]
    assert not stepped.enumerator.snapshot_state(2).unassigned


def test_a_checkpoint_before_the_first_look_looks_again() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 1)
    source = FakeSource(building().build(), broker)
    checkpoint = SteppedSource(source).checkpoint()
    assert not checkpoint.enumerator.initial_discovery_done
    rest = SteppedSource(source, restore=checkpoint)
    rest.run_calls()
    assert names(rest) == ["t-0"]


@pytest.mark.parametrize("failure", ["topic", "broker"])
def test_the_first_look_fails_the_job_with_the_reason(failure: str) -> None:
    broker = FakeBroker()
    if failure == "broker":
        broker.failure = KafkaUnreachable("no broker of 'nowhere:1' answered")
    stepped = SteppedSource(FakeSource(building().build(), broker))
    with pytest.raises(
        TopicNotFound if failure == "topic" else KafkaUnreachable,
        match=r"no topic 't'|nowhere:1",
    ):
        stepped.run_calls()


def test_later_looks_that_fail_are_noted_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = FakeBroker()
    broker.create_topic("t", 1)
    stepped = SteppedSource(FakeSource(pattern().build(), broker))
    stepped.run_calls()
    broker.failure = KafkaUnreachable("all gone")
    stepped.run_calls()
    assert "all gone" in caplog.text
    broker.failure = None
    broker.create_topic("t2", 1)
    stepped.run_calls()
    assert names(stepped) == ["t-0", "t2-0"]


def test_partitions_that_vanish_are_noted_once_and_not_new_when_they_are_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = FakeBroker()
    broker.create_topic("t", 1)
    gone = broker.create_topic("t2", 1)
    stepped = SteppedSource(FakeSource(pattern().build(), broker))
    stepped.run_calls()
    del broker.topics["t2"]
    stepped.run_calls()
    stepped.run_calls()
    assert caplog.text.count("topic 't2' partition 0 is not there any more") == 1
    broker.topics["t2"] = gone
    stepped.run_calls()
    assert names(stepped) == ["t-0", "t2-0"]


def test_a_pattern_that_matches_nothing_yet_waits(caplog: pytest.LogCaptureFixture) -> None:
    broker = FakeBroker()
    stepped = SteppedSource(FakeSource(pattern().set_starting_offsets(LATEST).build(), broker))
    stepped.run_calls()
    assert "nothing to read yet" in caplog.text
    fill(broker.create_topic("t1", 1)[0], [1, 2])
    stepped.run_calls()
    stepped.poll_until(lambda: stepped.values == ["1", "2"])


class Forgetful(KafkaOffsetsInitializer):
    def get_partition_offsets(
        self, partitions: object, lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        del partitions, lookup
        return {}

    def get_auto_offset_reset_strategy(self):  # type: ignore[no-untyped-def]  # noqa: ANN201
        return EARLIEST.get_auto_offset_reset_strategy()


def test_an_initializer_that_forgets_partitions_is_told_so() -> None:
    broker = FakeBroker()
    broker.create_topic("t", 2)
    built: KafkaSource = building().set_starting_offsets(Forgetful()).build()
    with pytest.raises(
        OffsetsNotFound, match=r"Forgetful gave no offset for topic 't' partition 0"
    ):
        SteppedSource(FakeSource(built, broker)).run_calls()
