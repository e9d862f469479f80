"""The measured systems: each says what it needs, and that is there."""

from importlib.util import find_spec

import pytest
from rich.console import Console

from benchmarks.setup_peers import PEERS
from benchmarks.systems import SYSTEMS, System
from benchmarks.turns import chosen
from benchmarks.workloads import WORKLOADS


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_case_names_a_workload_and_a_module_that_are_there(system: System) -> None:
    assert set(system.cases) <= set(WORKLOADS)
    for case in system.cases.values():
        assert find_spec(case.module) is not None
        for sizes in (case.sizes, case.sizes.quick()):
            assert 0 < sizes.small < sizes.large


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_what_is_left_out_is_a_workload_without_a_case(system: System) -> None:
    assert set(system.left_out) <= set(WORKLOADS) - set(system.cases)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_an_environment_of_its_own_is_for_peers_only(system: System) -> None:
    assert system.is_peer or system.environment is None
    assert system.peer == "" or system.peer in PEERS


def test_without_peers_only_the_limit_and_ours_take_turns() -> None:
    names = [system.name for system in chosen(SYSTEMS, None, Console(quiet=True), peers=False)]

    assert names == ["baseline", "riverrun", "riverrun-columns", "rocksdb"]
