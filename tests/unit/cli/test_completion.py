"""Completion in the shell: it can be installed, and knows the options."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from riverrun.cli.arguments import matching_definitions, matching_keys
from riverrun.cli.main import app
from riverrun.core.lifecycle import JobStatus
from tests.unit.cli.conftest import Cluster


def test_completion_can_be_shown_for_the_shell() -> None:
    assert "--show-completion" in CliRunner().invoke(app, ["--help"]).output


def test_keys_are_completed_with_their_meanings() -> None:
    assert matching_keys("parallelism.def") == [
        (
            "parallelism.default",
            (
                "how many subtasks an operator has that does not say; "
                "not set: one per core of a local master, else 1"
            ),
        )
    ]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("state.backend.ty", ["state.backend.type="]),
        ("state.backend.type=", ["state.backend.type=hashmap", "state.backend.type=rocksdb"]),
        ("state.backend.type=r", ["state.backend.type=rocksdb"]),
        ("pipeline.object-reuse=t", ["pipeline.object-reuse=true"]),
        ("pipeline.name=x", []),
        ("nothing.of.this.kind", []),
        ("nothing.of.this.kind=", []),
    ],
)
def test_definitions_are_completed(typed: str, offered: list[str]) -> None:
    assert [text for text, _ in matching_definitions(typed)] == offered


def test_the_shell_is_offered_keys_after_the_option() -> None:
    result = CliRunner().invoke(
        app,
        [],
        prog_name="river",
        env={
            "_RIVER_COMPLETE": "complete_zsh",
            "_TYPER_COMPLETE_ARGS": "river run -D parallelism.d",
        },
    )

    assert "parallelism.default=" in result.output


def test_the_shell_is_offered_jobs_that_run(cluster: Cluster) -> None:
    cluster.dispatcher.add("b" * 32, "over", JobStatus.FINISHED)

    def offered(typed: str) -> str:
        variables = {"_RIVER_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": f"river {typed}"}
        return CliRunner().invoke(app, [], prog_name="river", env=variables).output

    assert "a" * 32 in offered("cancel a")
    assert "orders" in offered("stop or")
    assert "over" not in offered("stop o")
    assert "orders" not in offered("stop -m localhost:1 or")
