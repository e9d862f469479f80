"""Which of several settings counts: each source against each weaker one, through what programs see."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from riverrun.cli.program_settings import command_line, handed_to_programs
from riverrun.core.config_sources.variables import variable_of
from riverrun.core.option_registry import KNOWN
from riverrun.datastream.environment import StreamExecutionEnvironment


@dataclass
class Surroundings:
    """What is arranged before a program makes its environment."""

    monkeypatch: pytest.MonkeyPatch
    definitions: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)

    def file(self, key: str, value: str) -> None:
        Path("river.yaml").write_text(f"{key}: {value}\n")

    def properties(self, key: str, value: str) -> None:
        self.monkeypatch.setenv("RIVERRUN_PROPERTIES", f"{key}: {value}")

    def variable(self, key: str, value: str) -> None:
        self.monkeypatch.setenv(variable_of(key), value)

    def json(self, key: str, value: str) -> None:
        self.monkeypatch.setenv("RIVERRUN_CONF", json.dumps({key: value}))

    def definition(self, key: str, value: str) -> None:
        self.definitions.append(f"{key}={value}")

    def program(self, key: str, value: str) -> None:
        self.code[key] = value

    def seen(self, key: str) -> object:
        """The value that a program sees that is run with all this."""
        with ExitStack() as run:
            run.enter_context(handed_to_programs(command_line(None, None, self.definitions)))
            env = StreamExecutionEnvironment.get_execution_environment(self.code)
            return KNOWN[key].get(env.get_configuration())


Set = Callable[[Surroundings, str, str], None]

SOURCES: dict[str, Set] = {
    "file": Surroundings.file,
    "properties": Surroundings.properties,
    "variable": Surroundings.variable,
    "json": Surroundings.json,
    "-D": Surroundings.definition,
    "program": Surroundings.program,
}
PAIRS = list(itertools.combinations(SOURCES, 2))


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Surroundings(monkeypatch)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_wins_over_the_default(source: str, surroundings: Surroundings) -> None:
    SOURCES[source](surroundings, "state.backend.type", "rocksdb")

    assert surroundings.seen("state.backend.type") == "rocksdb"


@pytest.mark.parametrize(("weaker", "stronger"), PAIRS)
def test_a_later_source_wins(weaker: str, stronger: str, surroundings: Surroundings) -> None:
    SOURCES[weaker](surroundings, "pipeline.name", weaker)
    SOURCES[stronger](surroundings, "pipeline.name", stronger)

    assert surroundings.seen("pipeline.name") == stronger


@pytest.mark.parametrize(("weaker", "stronger"), PAIRS)
@pytest.mark.parametrize("older_is", ["weaker", "stronger"])
def test_a_later_source_wins_under_any_name_of_the_option(
    weaker: str, stronger: str, older_is: str, surroundings: Surroundings
) -> None:
    present, older = "execution.checkpointing.dir", "state.checkpoints.dir"
    weak, strong = (older, present) if older_is == "weaker" else (present, older)

    SOURCES[weaker](surroundings, weak, "/weaker")
    SOURCES[stronger](surroundings, strong, "/stronger")

    assert surroundings.seen(present) == "/stronger"


@pytest.mark.parametrize(("weaker", "stronger"), [pair for pair in PAIRS if "variable" not in pair])
@pytest.mark.parametrize("entry_is", ["weaker", "stronger"])
def test_a_later_source_sets_the_whole_of_a_map(
    weaker: str, stronger: str, entry_is: str, surroundings: Surroundings
) -> None:
    key = "pipeline.global-job-parameters"
    texts = {"weaker": (key, "'a:1'"), "stronger": (key, "'b:2'")}
    texts[entry_is] = (f"{key}.{'a' if entry_is == 'weaker' else 'b'}", "x")

    for rank, source in (("weaker", weaker), ("stronger", stronger)):
        name, text = texts[rank]
        SOURCES[source](
            surroundings, name, text if source in ("file", "properties") else text.strip("'")
        )

    seen = surroundings.seen(key)
    assert seen == ({"b": "x"} if entry_is == "stronger" else {"b": "2"})


def test_what_code_sets_later_wins_under_an_older_name_too(surroundings: Surroundings) -> None:
    surroundings.file("state.backend.type", "rocksdb")
    env = StreamExecutionEnvironment.get_execution_environment()

    env.get_configuration().set_string("state.backend", "hashmap")

    assert KNOWN["state.backend"].get(env.get_configuration()) == "hashmap"


def test_the_named_file_is_the_one_that_programs_read(
    surroundings: Surroundings, tmp_path: Path
) -> None:
    surroundings.file("pipeline.name", "found")
    named = tmp_path / "named.yaml"
    named.write_text("pipeline.name: named")

    with handed_to_programs([], named):
        env = StreamExecutionEnvironment.get_execution_environment()

    assert env.get_configuration()["pipeline.name"] == "named"


def test_a_program_is_warned_of_older_names_and_keys_without_effect(
    surroundings: Surroundings, caplog: pytest.LogCaptureFixture
) -> None:
    surroundings.file("state.backend", "rocksdb")

    StreamExecutionEnvironment.get_execution_environment({"blob.server.port": "1"})

    assert caplog.messages == [
        "river.yaml:1: option 'state.backend': is the older name of 'state.backend.type'; use that",
        "option 'blob.server.port': known in Flink, has no effect here: files of a job travel with the job",
    ]
