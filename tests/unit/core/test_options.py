"""Options: reading text, defaults, and refusing what is not understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core import options
from riverrun.core.accepted_options import ACCEPTED
from riverrun.core.config_options import (
    MAP,
    STRINGS,
    AnyOption,
    ConfigOptions,
    parse_duration,
    parse_list,
    parse_map,
    parse_memory_size,
)
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KNOWN, check_config
from riverrun.core.options import RuntimeExecutionMode
from riverrun.core.time import Duration


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("10", 10),
        ("10ms", 10),
        ("10 ms", 10),
        (" 3 s ", 3_000),
        ("5 min", 300_000),
        ("5m", 300_000),
        ("1 h", 3_600_000),
        ("2 Days", 172_800_000),
        ("1500 micros", 1),
        ("PT1M30S", 90_000),
        ("P1DT0.5S", 86_400_500),
    ],
)
def test_durations_are_read_as_in_flink(text: str, millis: int) -> None:
    assert parse_duration(text).to_millis() == millis


@pytest.mark.parametrize("text", ["", "ms", "-1 s", "1.5 s", "3 lightyears", "P", "PT", "1 s 2 ms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**18))
def test_a_duration_survives_being_written_and_read(nanos: int) -> None:
    duration = Duration.of_nanos(nanos)

    assert parse_duration(str(duration)) == duration


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("7b", 7), ("1 kb", 1024), ("64MB", 64 << 20), ("2g", 2 << 30), ("1 tb", 1 << 40)],
)
def test_amounts_of_memory_are_read_as_in_flink(text: str, size: int) -> None:
    assert parse_memory_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "1.5mb", "3 lightyears"])
def test_what_is_no_amount_of_memory_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_memory_size(text)


def test_lists_are_read_in_both_forms() -> None:
    assert parse_list("a; b;c") == ["a", "b", "c"]
    assert parse_list("[a, 'b, c', \"d\"]") == ["a", "b, c", "d"]
    assert parse_list("[]") == []


@pytest.mark.parametrize("text", ["[a, , b]", "['a]", "[a, 'b' c]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_list(text)


@given(st.lists(st.text()))
def test_a_list_survives_being_written_and_read(items: list[str]) -> None:
    assert parse_list(STRINGS.render(items)) == items


@given(st.dictionaries(st.text(), st.text()))
def test_a_map_survives_being_written_and_read(entries: dict[str, str]) -> None:
    assert parse_map(MAP.render(entries)) == entries


@pytest.mark.parametrize("text", ["a", "a:1,b", "'a:1"])
def test_what_is_no_map_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_map(text)


def test_an_option_reads_its_value_or_gives_its_default() -> None:
    option = ConfigOptions.key("my.count").int_type().default_value(3)

    assert option.get({}) == 3
    assert option.get({"my.count": "4"}) == 4
    assert ConfigOptions.key("my.flag").boolean_type().no_default_value().get({}) is None
    assert ConfigOptions.key("my.wait").duration_type().default_value(Duration(0)).get(
        {"my.wait": "1 s"}
    ) == Duration.of_seconds(1)


def test_an_unreadable_value_is_refused_with_key_value_and_form() -> None:
    with pytest.raises(
        ConfigError,
        match=r"option 'execution\.runtime-mode': is 'SLOW'; expected one of STREAMING, BATCH",
    ):
        options.RUNTIME_MODE.get({"execution.runtime-mode": "SLOW"})


def test_names_of_an_enum_are_read_in_any_case() -> None:
    assert options.RUNTIME_MODE.get({"execution.runtime-mode": "batch"}) is (
        RuntimeExecutionMode.BATCH
    )


def test_an_older_key_is_read_when_the_newer_is_not_set() -> None:
    older, newer = "state.checkpoints.dir", "execution.checkpointing.dir"

    assert options.CHECKPOINT_DIR.get({older: "a"}) == "a"
    assert options.CHECKPOINT_DIR.get({older: "a", newer: "b"}) == "b"


@pytest.mark.parametrize(
    "option",
    [option for option in KNOWN.values() if option.default is not None],
    ids=lambda option: option.key,
)
def test_every_default_survives_being_written_and_read(option: AnyOption) -> None:
    config: dict[str, str] = {}

    option.set(config, option.default)

    assert option.get(config) == option.default
    check_config(config)


def test_no_key_is_both_read_and_accepted_without_effect() -> None:
    assert not ACCEPTED & set(KNOWN)


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("riverrun.frame.byte", "riverrun.frame.bytes"),
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("state.backend.typ", "state.backend.type"),
        ("taskmanager.numberOfTaskSlot", "taskmanager.numberOfTaskSlots"),
        ("paralelism.default", "parallelism.default"),
        ("parallelism.defaults", "parallelism.default"),
    ],
)
def test_an_unknown_key_is_refused_when_its_prefix_is_ours(key: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{nearest}'"):
        check_config({key: "1"})


def test_keys_of_others_pass() -> None:
    check_config(
        {
            "spark.executor.memory": "1g",
            "my.own": "x",
            "metrics.reporter.prom.class": "x",
            "python.fn-execution.bundle.size": "1000",
            "taskmanager.memory.process.size": "1 gb",
        }
    )


def test_a_configuration_has_typed_access() -> None:
    config = Configuration.from_dict({"a": 1, "b": True, "c": "x"})
    config.set_integer("i", 3).set_boolean("t", True).set_float("f", 0.5)
    config.set_bytearray("y", bytearray(b"\x00\xff"))

    assert config.to_dict()["b"] == "true"
    assert config.get_integer("a", 0) == 1
    assert config.get_integer("i", 0) == 3
    assert config.get_boolean("t", False) is True
    assert config.get_float("f", 0.0) == 0.5
    assert config.get_bytearray("y", bytearray()) == bytearray(b"\x00\xff")
    assert config.get_string("absent", "default") == "default"
    assert Configuration.parse_list_value("a;b") == ["a", "b"]


def test_a_configuration_joins_copies_and_compares() -> None:
    config = Configuration().set_string("k", "v")
    other = Configuration().add_all(config, prefix="p.")
    target: dict[str, str] = {}
    other.add_all_to_dict(target)

    assert target == {"p.k": "v"}
    assert other.key_set() == {"p.k"}
    assert other.contains_key("p.k")
    assert Configuration(other) == other
    assert hash(Configuration(other)) == hash(other)
    assert other.remove_config("p.k")
    assert not other.remove_config("p.k")
    assert other != config


def test_entries_of_a_map_may_be_set_one_by_one() -> None:
    key = options.GLOBAL_JOB_PARAMETERS.key

    assert options.GLOBAL_JOB_PARAMETERS.get({f"{key}.a": "1, 2", f"{key}.b.c": "x"}) == {
        "a": "1, 2",
        "b.c": "x",
    }
    assert options.GLOBAL_JOB_PARAMETERS.get({f"{key}.a": "1", key: "b:2"}) == {"b": "2"}
    assert options.GLOBAL_JOB_PARAMETERS.is_set({f"{key}.a": "1"})
    check_config({f"{key}.a": "1"})


def test_the_name_of_an_option_that_was_set_last_counts() -> None:
    config = Configuration().set_string("state.backend.type", "rocksdb")

    config.set_string("state.backend", "hashmap")
    assert config.to_dict() == {"state.backend": "hashmap"}

    config.set_string("state.backend.type", "rocksdb")
    assert config.to_dict() == {"state.backend.type": "rocksdb"}


def test_entries_of_a_map_and_the_map_take_each_others_place() -> None:
    key = options.GLOBAL_JOB_PARAMETERS.key
    config = Configuration().set_string(key, "a:1")

    config.set_string(f"{key}.b", "2").set_string(f"{key}.c", "3")
    assert options.GLOBAL_JOB_PARAMETERS.get(config) == {"b": "2", "c": "3"}

    config.set_string(key, "a:1")
    assert config.to_dict() == {key: "a:1"}


def test_a_configuration_holds_text_only() -> None:
    with pytest.raises(TypeError, match="expected both to be strings"):
        Configuration().set_string("k", 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'k': is 'x'; expected a whole number"):
        Configuration().set_string("k", "x").get_integer("k", 0)
