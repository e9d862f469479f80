"""What the peers' results are compared with is what ours are compared with."""

from __future__ import annotations

import pytest

from benchmarks.peers.expected import EXPECTED, compare
from benchmarks.programs import PROGRAMS
from benchmarks.systems import SYSTEMS
from benchmarks.workloads import LARGE_RECORDS, STATELESS, WORKLOADS


@pytest.mark.parametrize("workload", EXPECTED)
def test_the_loops_of_peers_give_what_ours_give(workload: str) -> None:
    records = 3 if workload == LARGE_RECORDS else 110_000
    ours = PROGRAMS[workload].expected(records)

    found = sorted(EXPECTED[workload](records))

    assert found == sorted(dict(ours).items() if workload in _SUMS else ours)


_SUMS = [name for name in EXPECTED if name in ("keyed", "state", "skewed") or "subtasks" in name]


def test_a_missing_result_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    results = EXPECTED[STATELESS](20_000)

    compare("bytewax", STATELESS, results[::-1])

    assert capsys.readouterr().out == "bytewax stateless: 9214 results of 20000 records are right\n"
    with pytest.raises(SystemExit, match="bytewax stateless: 9213 results of 20000 records"):
        compare("bytewax", STATELESS, results[1:])


@pytest.mark.parametrize("name", ["bytewax", "pathway"])
def test_a_workload_is_run_or_it_is_said_why_not(name: str) -> None:
    system = SYSTEMS[name]

    assert system.cases.keys() | system.left_out.keys() == set(WORKLOADS)
