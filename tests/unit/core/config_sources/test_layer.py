"""The settings of one source: older names, maps, keys without effect, and refusals."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from riverrun.core.accepted_options import ACCEPTED
from riverrun.core.config_sources.layer import Layer, checked_layer
from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KNOWN, OPTIONS


def layer(config: Mapping[str, str], source: Source = Source.FILE) -> Layer:
    return checked_layer(
        Setting(key, value, Origin(source, f"river.yaml:{line}"))
        for line, (key, value) in enumerate(config.items(), 1)
    )


def values(config: Mapping[str, str]) -> dict[str, str]:
    return {key: setting.value for key, setting in layer(config).settings.items()}


@pytest.mark.parametrize(
    ("older", "present"),
    [
        ("state.backend", "state.backend.type"),
        ("state.checkpoints.dir", "execution.checkpointing.dir"),
        ("state.savepoints.dir", "execution.checkpointing.savepoint-dir"),
        ("state.backend.incremental", "execution.checkpointing.incremental"),
        ("state.checkpoints.num-retained", "execution.checkpointing.num-retained"),
        ("restart-strategy", "restart-strategy.type"),
        ("execution.savepoint.path", "execution.state-recovery.path"),
    ],
)
def test_older_names_of_flink_are_names_of_the_present_option(older: str, present: str) -> None:
    assert KNOWN[older] is OPTIONS[present]


def test_an_older_name_counts_with_a_warning() -> None:
    found = layer({"state.backend": "rocksdb"})

    assert {key: setting.value for key, setting in found.settings.items()} == {
        "state.backend.type": "rocksdb"
    }
    assert found.notes == [
        "river.yaml:1: option 'state.backend': is the older name of 'state.backend.type'; use that"
    ]


def test_the_present_name_counts_over_an_older_one_beside_it() -> None:
    older, present = "state.backend", "state.backend.type"

    assert values({older: "hashmap", present: "rocksdb"}) == {present: "rocksdb"}
    assert values({present: "rocksdb", older: "hashmap"}) == {present: "rocksdb"}
    assert "which is set too and counts" in layer({older: "hashmap", present: "rocksdb"}).notes[0]


def test_entries_of_a_map_that_are_set_one_by_one_are_the_map() -> None:
    key = "pipeline.global-job-parameters"

    assert values({f"{key}.day": "1, 2", f"{key}.a.b": "x"}) == {key: "day:'1, 2',a.b:x"}
    assert values({f"{key}.day": "1", key: "a:2"}) == {key: "a:2"}


def test_keys_that_flink_knows_pass_with_a_word() -> None:
    found = layer(dict.fromkeys(sorted(ACCEPTED), "whatever"))

    assert set(found.settings) == ACCEPTED
    for line, (key, note) in enumerate(zip(sorted(ACCEPTED), found.notes, strict=True), 1):
        assert note.startswith(
            f"river.yaml:{line}: option {key!r}: known in Flink, has no effect here"
        )


def test_a_key_without_effect_says_what_to_set_instead() -> None:
    (note,) = layer({"taskmanager.memory.process.size": "2 gb"}).notes

    assert note.endswith("has no effect here: the memory of workers is spark.executor.memory")


def test_a_misspelt_key_where_names_are_free_is_pointed_out() -> None:
    (note,) = layer({"s3.acces-key": "x"}).notes

    assert note.endswith("did you mean 's3.access-key'?")


def test_keys_of_others_pass_in_silence() -> None:
    config = {"spark.executor.memory": "1g", "my.own": "x"}

    assert values(config) == config
    assert layer(config).notes == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"my.own": "1", "execution.checkpointing.intervall": "1 s"},
            (
                "river.yaml:2: option 'execution.checkpointing.intervall': there is no such option; "
                "did you mean 'execution.checkpointing.interval'?"
            ),
        ),
        (
            {"paralelism.default": "1"},
            (
                "river.yaml:1: option 'paralelism.default': there is no such option; "
                "did you mean 'parallelism.default'?"
            ),
        ),
        (
            {"parallelism.default": "many"},
            "river.yaml:1: option 'parallelism.default': is 'many'; expected a whole number",
        ),
        (
            {"state.backend": "redis"},
            "river.yaml:1: option 'state.backend': is 'redis'; expected one of hashmap, rocksdb",
        ),
        (
            {"execution.checkpointing.mode": "twice"},
            (
                "river.yaml:1: option 'execution.checkpointing.mode': is 'twice'; "
                "expected one of EXACTLY_ONCE, AT_LEAST_ONCE"
            ),
        ),
        (
            {"execution.checkpointing.unaligned.enabled": "yes"},
            (
                "river.yaml:1: option 'execution.checkpointing.unaligned.enabled': is 'yes'; "
                "expected true or false"
            ),
        ),
        (
            {"riverrun.frame.bytes": "much"},
            (
                "river.yaml:1: option 'riverrun.frame.bytes': is 'much'; "
                'expected an amount of memory such as "64mb" or "1 gb"'
            ),
        ),
    ],
)
def test_errors_say_where_what_was_found_and_what_is_expected(
    config: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        layer(config)
    assert str(refused.value) == message


def test_who_has_just_typed_a_setting_is_not_told_where() -> None:
    with pytest.raises(ConfigError, match=r"^option 'riverrun\.mastr'"):
        layer({"riverrun.mastr": "x"}, Source.COMMAND_LINE)
