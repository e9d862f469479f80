"""What a program says it needs is found, or refused with what to do instead."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError
from riverrun.datastream.environment import StreamExecutionEnvironment


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(Configuration())


def test_a_module_that_was_added_can_be_imported(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "added_module.py").write_text("ANSWER = 42\n")

    env.add_python_file(str(tmp_path / "added_module.py"))

    assert str(tmp_path) in sys.path
    with pytest.raises(ProgramError, match="does not exist"):
        env.add_python_file(str(tmp_path / "missing.zip"))


def test_the_interpreter_is_the_programs_own(env: StreamExecutionEnvironment) -> None:
    env.set_python_executable(sys.executable)

    with pytest.raises(ProgramError, match="must run on the same"):
        env.set_python_executable("/elsewhere/python")


def test_what_would_have_to_be_copied_to_workers_is_refused(
    env: StreamExecutionEnvironment,
) -> None:
    with pytest.raises(ProgramError, match="install them where"):
        env.set_python_requirements("requirements.txt")
    with pytest.raises(ProgramError, match=r"spark\.archives"):
        env.add_python_archive("archive.zip")
    with pytest.raises(ProgramError, match=r"spark\.files"):
        env.register_cached_file("data.csv", "data")
    with pytest.raises(ProgramError, match="use from_source"):
        env.create_input(object())
