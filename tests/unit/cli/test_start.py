"""The command as a whole: its start, its help, and the commands that hand over to others."""

import subprocess
import sys
import types
from typing import Any

import pytest
from typer.testing import CliRunner

from riverrun import __version__
from riverrun.cli.main import app


def test_the_command_starts_without_spark_and_the_program_side() -> None:
    code = (
        "import sys, riverrun.cli.main\n"
        "print([m for m in ('pyspark', 'pyarrow', 'pandas', 'rich.table') if m in sys.modules])"
    )

    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert completed.stdout == "[]\n"


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(app, ["version"]).output == f"riverrun {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "plan",
        "checkpoints",
        "savepoints",
        "savepoint",
        "demo",
        "spark-conf",
        "doctor",
        "version",
    ],
)
def test_every_command_has_a_help_of_its_own(command: str) -> None:
    assert command in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


class TestDemo:
    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []

        def run_demo(**options: Any) -> bool:
            made.append(options)
            return bool(options["seconds"] < 100)

        module = types.ModuleType("riverrun.cli.demo")
        vars(module)["run_demo"] = run_demo
        monkeypatch.setitem(sys.modules, "riverrun.cli.demo", module)
        return made

    def test_the_options_reach_the_demo(self, calls: list[dict[str, Any]]) -> None:
        options = ["--seconds", "3", "--rate", "50", "-p", "4", "--master", "in-process", "--ui"]

        assert CliRunner().invoke(app, ["demo", *options]).exit_code == 0
        (call,) = calls
        assert (call["seconds"], call["rate"], call["parallelism"]) == (3, 50, 4)
        assert (call["master"], call["ui"]) == ("in-process", True)

    def test_without_options_it_lasts_about_half_a_minute(
        self, calls: list[dict[str, Any]]
    ) -> None:
        CliRunner().invoke(app, ["demo"])

        (call,) = calls
        assert (call["seconds"], call["rate"], call["parallelism"]) == (20, None, 2)
        assert (call["master"], call["ui"]) == (None, False)

    def test_wrong_totals_are_a_failure(self, calls: list[dict[str, Any]]) -> None:
        assert CliRunner().invoke(app, ["demo", "--seconds", "200"]).exit_code == 1
        assert len(calls) == 1
