"""Settings in YAML: shapes, values as they were written, and what is refused, with its line."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.config_options import parse_list, parse_map
from riverrun.core.config_sources.setting import Source
from riverrun.core.config_sources.yaml_text import read_yaml
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import OPTIONS


def settings(text: str) -> dict[str, str]:
    return {each.key: each.value for each in read_yaml(text, "river.yaml", Source.FILE)}


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        settings(text)
    return str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "state.backend.type: rocksdb\nstate.backend.rocksdb.localdir: /x",
        "state:\n  backend:\n    type: rocksdb\n    rocksdb:\n      localdir: /x",
        "state.backend:\n  type: rocksdb\nstate.backend.rocksdb.localdir: /x",
        "state: {backend: {type: rocksdb, rocksdb.localdir: /x}}",
        '"state.backend.type": "rocksdb"\nstate.backend.rocksdb.localdir: \'/x\'  # a comment',
    ],
    ids=["flat", "nested", "mixed", "flow", "quoted"],
)
def test_keys_may_be_flat_or_nested(text: str) -> None:
    assert settings(text) == {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": "/x",
    }


@pytest.mark.parametrize(
    "value", ["off", "yes", "010", "1:30", "1e3", "10 s", "64 mb", "2026-11-16", "True", "0x1f"]
)
def test_a_value_stays_as_it_was_written(value: str) -> None:
    assert settings(f"my.own: {value}") == {"my.own": value}


def test_a_setting_knows_its_line() -> None:
    found = read_yaml("# first\n\nmy:\n  own: 1\n  other: 2\n", "river.yaml", Source.FILE)

    assert [(each.key, each.origin.place) for each in found] == [
        ("my.own", "river.yaml:4"),
        ("my.other", "river.yaml:5"),
    ]


def test_a_list_is_read_in_both_shapes() -> None:
    flow = settings("my.list: [a, 'b, c', \"it's\", '']")["my.list"]
    block = settings("my.list:\n  - a\n  - b, c\n  - it's\n  - ''")["my.list"]

    assert flow == block
    assert parse_list(flow) == ["a", "b, c", "it's", ""]


def test_lists_of_mappings_stay_readable_yaml() -> None:
    text = settings("pipeline.serialization-config:\n  - org.x: {type: kryo, 'k, v': [1]}")

    assert yaml.safe_load(text["pipeline.serialization-config"]) == [
        {"org.x": {"type": "kryo", "k, v": [1]}}
    ]


def test_a_mapping_below_an_option_that_is_a_map_is_its_value() -> None:
    text = "pipeline:\n  global-job-parameters:\n    day: '2026, or so'\n    a: {b: 1}\n"

    value = settings(text)["pipeline.global-job-parameters"]

    assert parse_map(value) == {"day": "2026, or so", "a.b": "1"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~"])
def test_an_empty_text_sets_nothing(text: str) -> None:
    assert settings(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: 1\nb: 2\na: 3",
            "river.yaml:3: option 'a': was set before, at river.yaml:1; set it once",
        ),
        (
            "a.b: 1\na:\n  b: 2",
            "river.yaml:3: option 'a.b': was set before, at river.yaml:1; set it once",
        ),
        ("a: 1\nb:\n", "river.yaml:2: option 'b': has no value; give it one, or remove the line"),
        ("- a\n- b", "river.yaml:1: found a list; expected lines such as key: value"),
        ("just words", "river.yaml:1: found 'just words'; expected lines such as key: value"),
        ("a: 1\n? [b]\n: 2", "river.yaml:2: a key is a list; expected a name"),
        (
            "a: &x 1\nb: *x",
            "river.yaml:2: cannot be read as YAML: the reference *x is not read here",
        ),
        ("a: {<<: {b: 1}}", "river.yaml:1: merging with '<<' is not read here"),
        ("a: !mine 1", "river.yaml:1: option 'a': has the tag '!mine', which is not read here"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_tab_is_refused_with_advice() -> None:
    assert refusal("a:\n\tb: 1").endswith("indent with spaces, YAML allows no tabs")
    assert refusal("a:\n\tb: 1").startswith("river.yaml:2: cannot be read as YAML: ")


def test_two_documents_are_refused() -> None:
    assert refusal("a: 1\n---\nb: 2").startswith("river.yaml:2: cannot be read as YAML: ")


_WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12)
_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)


@st.composite
def _trees(draw: st.DrawFn) -> dict[str, Any]:
    leaves = st.recursive(
        _WORDS, lambda below: st.dictionaries(_NAMES, below, min_size=1, max_size=3), max_leaves=8
    )
    return draw(st.dictionaries(_NAMES.map("my-".__add__), leaves, max_size=4))


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


@given(_trees(), st.booleans())
def test_settings_survive_being_written_and_read(tree: dict[str, Any], flow: bool) -> None:
    flat = _flat(tree)

    nested_text = yaml.safe_dump(tree, allow_unicode=True, default_flow_style=flow)
    flat_text = yaml.safe_dump(flat, allow_unicode=True, default_flow_style=flow)

    assert settings(nested_text) == settings(flat_text) == flat


@given(st.lists(_WORDS, max_size=5))
def test_a_list_survives_being_written_and_read(items: list[str]) -> None:
    text = yaml.safe_dump({"my.list": items}, allow_unicode=True)

    assert parse_list(settings(text)["my.list"]) == items


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        settings(text)
    except ConfigError as error:
        assert str(error).startswith("river.yaml")  # noqa: PT017


def test_every_default_can_stand_in_a_file() -> None:
    written: dict[str, str] = {}
    chosen = [option for option in OPTIONS.values() if option.default is not None]
    for option in chosen:
        option.set(written, option.default)

    read = settings(yaml.safe_dump(written))

    assert {option.key: option.get(read) for option in chosen} == {
        option.key: option.default for option in chosen
    }
