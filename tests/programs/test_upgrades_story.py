"""The story of docs/guide/upgrades.md, with the scripts of examples/upgrade and the commands that it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from riverrun.cli.main import app

SCRIPTS = Path(__file__).parents[2] / "examples" / "upgrade"
MOST_LINES = 60
TOTALS = """\
customer 0: 13,215.00
customer 1: 13,245.00
customer 2: 13,275.00
customer 3: 13,305.00
"""
PROOF = """\
every cent is there: True
version 1 did its part: True
large payments since then: True
"""


def river(*arguments: object, code: int = 0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def run(master: str, script: str, *options: object, argument: Any = None, code: int = 0) -> str:
    """What ``river run`` of a script prints."""
    after = () if argument is None else (argument,)
    return river("run", "--master", master, *options, SCRIPTS / script, *after, code=code)


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where version 1 stopped."""
    folder = tmp_path_factory.mktemp("savepoints")
    return run("in-process", "v1.py", "-p", 2, argument=folder).strip()


def test_version_2_goes_on_where_version_1_stopped(savepoint: str) -> None:
    assert run("in-process", "v2.py", "-p", 3, "-s", savepoint) == TOTALS + PROOF


def test_version_1_goes_on_from_the_same_savepoint_when_version_2_was_a_mistake(
    savepoint: str,
) -> None:
    run("in-process", "v2.py", "-p", 3, "-s", savepoint)

    assert run("in-process", "v1.py", "-p", 1, "-s", savepoint) == TOTALS


def test_another_max_parallelism_is_refused_before_anything_runs(savepoint: str) -> None:
    said = run("in-process", "v2.py", "-D", "pipeline.max-parallelism=64", "-s", savepoint, code=1)

    assert "has max parallelism 64, its keyed state was saved with 128" in said


def test_the_scripts_fit_on_a_page() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS.glob("*.py")}

    assert set(lengths) == {"v1.py", "v2.py"}
    assert max(lengths.values()) <= MOST_LINES
