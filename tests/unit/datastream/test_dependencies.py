"""What a program says it needs becomes part of its settings, or is refused."""

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


def test_what_is_added_becomes_part_of_the_settings_once(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("a.zip", "b.py", "requirements.txt"):
        (tmp_path / name).write_text("")
    for _ in range(2):
        env.add_python_file(str(tmp_path / "b.py"))
        env.add_python_archive(str(tmp_path / "a.zip"))
        env.add_python_archive(str(tmp_path / "a.zip"), "named")
        env.set_python_executable("named/bin/python")
        env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path))
        env.register_cached_file(str(tmp_path / "b.py"), "data", executable=True)

    assert env.get_configuration().to_dict() == {
        "python.files": f"{tmp_path}/b.py",
        "python.archives": f"{tmp_path}/a.zip,{tmp_path}/a.zip#named",
        "python.executable": "named/bin/python",
        "python.requirements": f"{tmp_path}/requirements.txt#{tmp_path}",
        "pipeline.cached-files": f"name:data,path:{tmp_path}/b.py,executable:true",
    }


def test_what_is_not_there_is_refused(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ProgramError, match=r"set_python_requirements.*does not exist"):
        env.set_python_requirements(missing)
    with pytest.raises(ProgramError, match=r"add_python_archive.*does not exist"):
        env.add_python_archive(missing)
    with pytest.raises(ProgramError, match=r"register_cached_file.*does not exist"):
        env.register_cached_file(missing, "data")
    with pytest.raises(ProgramError, match="without commas"):
        env.register_cached_file(str(tmp_path), "a,b")
    with pytest.raises(ProgramError, match="use from_source"):
        env.create_input(object())


def test_in_process_there_is_nobody_to_bring_anything_to(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "a.zip").write_text("")
    env.get_configuration()["riverrun.master"] = "in-process"
    env.set_python_executable(sys.executable)
    env.from_collection([1]).print()
    env.execute()

    env.add_python_archive(str(tmp_path / "a.zip"))
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=r"python\.archives.*in-process"):
        env.execute()
