"""The registry of options: it has all of them, once, and says what any other key is."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

import pytest

import riverrun.core
from riverrun.core.config_options import ConfigOption
from riverrun.core.option_meanings import default_text, meaning_of
from riverrun.core.option_registry import KNOWN, OPTIONS, KeyKind, kind_of, nearest, unknown_key


def declared() -> list[ConfigOption[object]]:
    """All options that modules of the core declare."""
    modules = [
        importlib.import_module(f"riverrun.core.{module.name}")
        for module in pkgutil.iter_modules(riverrun.core.__path__)
        if module.name.endswith("options")
    ]
    found = [value for module in modules for value in vars(module).values()]
    return list({id(value): value for value in found if isinstance(value, ConfigOption)}.values())


def test_every_option_that_is_declared_is_known() -> None:
    assert {option.key for option in declared()} == set(OPTIONS)


def test_no_name_means_two_options() -> None:
    names = Counter(name for option in declared() for name in option.names())

    assert [name for name, count in names.items() if count > 1] == []


def test_every_option_can_be_described() -> None:
    for option in OPTIONS.values():
        assert meaning_of(option)
        assert default_text(option)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("state.backend.type", KeyKind.OPTION),
        ("state.backend", KeyKind.OLDER_NAME),
        ("pipeline.global-job-parameters.day", KeyKind.OPTION),
        ("taskmanager.memory.process.size", KeyKind.NO_EFFECT),
        ("blob.server.port", KeyKind.NO_EFFECT),
        ("spark.executor.memory", KeyKind.FREE),
        ("my.own", KeyKind.FREE),
        ("state.backend.typ", KeyKind.UNKNOWN),
        ("exection.checkpointing.interval", KeyKind.UNKNOWN),
    ],
)
def test_a_key_is_what_it_is(key: str, kind: KeyKind) -> None:
    assert kind_of(key) is kind


def test_the_nearest_of_a_key_is_itself() -> None:
    assert [key for key in sorted(KNOWN)[::20] if nearest(key) != key] == []


def test_a_key_like_no_other_gets_advice_all_the_same() -> None:
    assert unknown_key("pipeline.zzzzzzzzzzzzzzzzzzzzzzzzzz").endswith(
        "there is no such option; river config --all lists the options that there are"
    )
