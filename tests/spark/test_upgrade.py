"""The story of docs/guide/upgrades.md on Spark, with its own scripts and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.programs.test_upgrades_story import PROOF, TOTALS, run

pytestmark = pytest.mark.spark

MASTER = "local[2]"


@pytest.mark.usefixtures("no_leaks")
def test_version_2_goes_on_where_version_1_stopped(warm_session: Any, tmp_path: Path) -> None:
    savepoint = run(MASTER, "v1.py", "-p", 2, argument=tmp_path).strip()
    kept = {path: path.read_bytes() for path in Path(savepoint).rglob("*") if path.is_file()}

    upgraded = run(MASTER, "v2.py", "-p", 3, "-s", savepoint)
    back = run(MASTER, "v1.py", "-p", 1, "-D", "state.backend.type=rocksdb", "-s", savepoint)

    assert upgraded == TOTALS + PROOF
    assert back == TOTALS
    assert {
        path: path.read_bytes() for path in Path(savepoint).rglob("*") if path.is_file()
    } == kept
