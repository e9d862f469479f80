"""What is measured is right: each workload on Spark gives what plain Python gives."""

from __future__ import annotations

import pytest

from benchmarks.engine import check
from benchmarks.measurement import parallelism_of
from benchmarks.programs import PROGRAMS
from benchmarks.workloads import CHAIN, COLUMNS, JOIN, LARGE_RECORDS, SESSIONS, SLIDING, WINDOWS
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

RECORDS = {
    WINDOWS: 250_000,
    COLUMNS: 250_000,
    SLIDING: 250_000,
    SESSIONS: 280_000,
    JOIN: 100_000,
    LARGE_RECORDS: 30,
    CHAIN: 2_000,
}
"""Those with times need more, so that windows end before the input does."""


@pytest.mark.parametrize("workload", PROGRAMS)
def test_a_workload_gives_what_plain_python_gives(make_env: MakeEnv, workload: str) -> None:
    check(make_env(parallelism_of(workload)), workload, RECORDS.get(workload, 20_000))
