"""``river plan``: what a script would run."""

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from riverrun.cli.main import app
from riverrun.datastream.program import Program

WriteScript = Callable[..., Path]

SCRIPT = """
from pyflink.datastream import StreamExecutionEnvironment

def refuse(value):
    raise AssertionError("the job ran")

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_sequence(1, 9).map(refuse).key_by(lambda v: v).reduce(max).print()
print("defined")
result = env.execute("biggest")
print("ended", result.get_net_runtime())
"""


def test_jobs_are_printed_and_not_run(write_script: WriteScript) -> None:
    result = CliRunner().invoke(app, ["plan", "--pyflink", str(write_script(SCRIPT))])

    assert result.exit_code == 0
    assert result.stderr == "defined\nended 0\n"
    lines = result.stdout.splitlines()
    assert lines[0] == "job 'biggest'"
    assert "Source: Sequence -> Map x2" in lines[1]
    assert lines[4:] == [
        "4 Spark task slots, 2 slots",
        "layer 0",
        "  0-1: Source: Sequence -> Map",
        "layer 1",
        "  0-1: Reduce -> Sink: Print to Std. Out",
    ]


def test_the_plan_can_be_printed_as_json(write_script: WriteScript) -> None:
    result = CliRunner().invoke(app, ["plan", "--pyflink", "--json", str(write_script(SCRIPT))])

    nodes = json.loads(result.stdout)["nodes"]
    assert [node["type"] for node in nodes][:3] == ["Source: Sequence", "Map", "Reduce"]


def test_jobs_run_again_afterwards(write_script: WriteScript) -> None:
    run = Program.submit

    CliRunner().invoke(app, ["plan", str(write_script("raise ValueError"))])

    assert Program.submit is run
