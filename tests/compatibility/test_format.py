"""The formats of snapshots do not change by accident: what they were is in ``format.json``."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from riverrun.protocol.snapshots import FORMAT_VERSION
from tests.compatibility.formats import (
    ADDED,
    CHANGED,
    FILE,
    changes,
    digest_of,
    found,
    unreadable,
    versions,
)
from tests.compatibility.kept import entries
from tests.compatibility.written import metadata_in


@pytest.fixture(scope="module")
def recorded() -> Any:
    return json.loads(FILE.read_text())


def test_snapshots_look_as_they_did_when_their_format_got_its_version(recorded: Any) -> None:
    now = found()

    assert unreadable(recorded, now) == [], CHANGED
    assert list(changes(recorded, now)) == [], ADDED


def test_the_recorded_versions_are_those_of_the_code(recorded: Any) -> None:
    assert recorded["versions"] == versions(), CHANGED


def test_every_version_of_the_format_has_snapshots_in_the_corpus() -> None:
    kept = {metadata_in(entry.folder).format_version for entry in entries()}

    assert kept == set(range(1, FORMAT_VERSION + 1)), (
        "add some with tests.compatibility.make_corpus"
    )


def test_snapshots_of_releases_are_never_written_again(recorded: Any) -> None:
    folders = {entry.release: entry.folder.parents[1] for entry in entries()}

    assert {release: digest_of(folder) for release, folder in folders.items()} == recorded["corpus"]


def test_classes_of_ours_that_are_pickled_stay_where_they_are(recorded: Any) -> None:
    for program in recorded["snapshots"].values():
        for name in program["classes"]:
            module, _, cls = name.rpartition(".")
            assert hasattr(import_module(module), cls), f"{name}: snapshots of users refer to it"


@pytest.mark.parametrize(
    ("was", "now", "broken"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a/b: was 1, is 2"]),
        ({"a": 1, "b": 2}, {"a": 1}, ["b: removed"]),
        ({"required": ["a"]}, {"required": ["a", "b"]}, ["required: was ['a'], is ['a', 'b']"]),
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"corpus": {"0.1.0": "x"}}, {"corpus": {"0.1.0": "y"}}, []),
    ],
    ids=["changed", "removed", "one more is required", "added", "corpus"],
)
def test_what_is_added_can_be_read_by_older_releases_and_nothing_else(
    was: Any, now: Any, broken: list[str]
) -> None:
    assert unreadable(was, now) == broken
