"""The measured systems: each says what it needs, and that is there."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest
from rich.console import Console

from benchmarks.setup_peers import PEERS
from benchmarks.systems import STATE_SYSTEMS, SYSTEMS, WINDOW_SYSTEMS, System
from benchmarks.turns import chosen

TABLES: list[Mapping[str, System]] = [SYSTEMS, STATE_SYSTEMS, WINDOW_SYSTEMS]


def every() -> list[Any]:
    return [
        pytest.param(system, id=f"{number}-{name}")
        for number, table in enumerate(TABLES)
        for name, system in table.items()
    ]


@pytest.mark.parametrize("system", every())
def test_a_system_names_a_module_that_is_there_and_sizes_for_what_it_tunes(system: System) -> None:
    assert find_spec(system.module) is not None
    assert set(system.settings) <= set(system.sizes)
    for sizes in (*system.sizes.values(), *(each.quick() for each in system.sizes.values())):
        assert 0 < sizes.small < sizes.large


@pytest.mark.parametrize("system", every())
def test_an_environment_of_its_own_is_for_peers_only(system: System) -> None:
    assert system.is_peer or system.environment is None
    assert system.peer == "" or system.peer in PEERS


@pytest.mark.parametrize("table", TABLES)
def test_without_peers_only_the_limit_and_ours_take_turns(table: Mapping[str, System]) -> None:
    names = [system.name for system in chosen(table, None, Console(quiet=True), peers=False)]

    assert {"baseline", "riverrun"} <= set(names) <= {"baseline", "riverrun", "rocksdb", "columns"}
