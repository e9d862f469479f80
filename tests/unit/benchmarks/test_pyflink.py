"""PyFlink's cases: nothing is left out in silence, and every flag is one that its modules read."""

from __future__ import annotations

import ast
from itertools import chain
from pathlib import Path

import pytest

from benchmarks.setup_peers import ROOT
from benchmarks.systems.pyflink import PYFLINK, PYFLINK_THREAD
from benchmarks.systems.system import Case, System
from benchmarks.workloads import WORKLOADS

SYSTEMS = {system.name: system for system in (PYFLINK, PYFLINK_THREAD)}
PEERS = ROOT / "benchmarks" / "peers"


def names_in(path: Path, name: str) -> set[str]:
    """The keys of a dict that a module of the peer's has; only the peer's interpreter can import it."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            assert isinstance(statement.value, ast.Dict)
            return {ast.literal_eval(key) for key in statement.value.keys if key is not None}
    return set()


def known_to(case: Case) -> set[str]:
    module = PEERS / f"{case.module.rpartition('.')[2]}.py"
    settings = names_in(PEERS / "pyflink_job.py", "SETTINGS") | names_in(module, "OWN")
    return {f"--{name.replace('_', '-')}" for name in settings}


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_every_workload_is_measured_or_explained(system: System) -> None:
    assert set(WORKLOADS) == set(chain(system.cases, system.left_out))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_flags_are_settings_of_the_module(system: System) -> None:
    for case in system.cases.values():
        assert set(case.flags[::2]) <= known_to(case)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_only_the_cases_in_thread_mode_say_so(system: System) -> None:
    for case in system.cases.values():
        assert ("thread" in case.flags) == (system is PYFLINK_THREAD)
