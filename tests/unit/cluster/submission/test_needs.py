from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from riverrun.cluster.submission.needs import Needs, gathered
from riverrun.core.errors import ExternalError, ProgramError


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def names(needs: Needs) -> list[list[str]]:
    """What is in the zips of modules."""
    found = []
    for _, path in needs.modules:
        with zipfile.ZipFile(path) as archive:
            found.append(sorted(archive.namelist()))
    return found


def test_a_program_that_says_nothing_needs_nothing(scratch: Path) -> None:
    assert gathered({}, scratch) == Needs()


def test_files_and_folders_become_one_zip_and_zips_stay_as_they_are(
    tmp_path: Path, scratch: Path
) -> None:
    (tmp_path / "one.py").write_text("")
    (tmp_path / "folder" / "package").mkdir(parents=True)
    (tmp_path / "folder" / "package" / "__init__.py").write_text("")
    (tmp_path / "folder" / "two.py").write_text("")
    with zipfile.ZipFile(tmp_path / "three.zip", "w") as archive:
        archive.writestr("three.py", "")
    config = {"python.files": f"{tmp_path}/one.py, {tmp_path}/three.zip,file://{tmp_path}/folder"}

    assert names(gathered(config, scratch)) == [
        ["three.py"],
        ["one.py", "package/__init__.py", "two.py"],
    ]


def test_archives_are_named_after_their_files_or_as_they_are_told(
    tmp_path: Path, scratch: Path
) -> None:
    for name in ("data.zip", "venv.tar.gz"):
        (tmp_path / name).write_bytes(b"")
    config = {
        "python.archives": f"{tmp_path}/data.zip,{tmp_path}/venv.tar.gz#venv",
        "python.executable": "venv/bin/python",
    }

    found = gathered(config, scratch)

    assert [name for name, _ in found.archives] == ["data.zip", "venv"]
    assert found.python == "venv/bin/python"


def test_cached_files_are_found_by_name(tmp_path: Path, scratch: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"")
    config = {
        "pipeline.cached-files": f"name:x,path:{tmp_path}/a;name:y,path:{tmp_path}/b,executable:true"
    }

    found = gathered(config, scratch)

    assert found.data == [("x", tmp_path / "a"), ("y", tmp_path / "b")]
    assert found.programs == ["y"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"python.files": "/no/such.py"}, r"'/no/such.py' does not exist"),
        ({"python.archives": "/no/such.zip"}, "does not exist"),
        ({"python.archives": "{here}#a/b"}, "the name 'a/b'"),
        ({"python.archives": "{here}#.."}, r"the name '\.\.'"),
        ({"python.archives": "{there}"}, "no archive"),
        ({"python.requirements": "/no/such.txt"}, "expected a requirements file"),
        ({"pipeline.cached-files": "name:x"}, "cannot understand 'name:x'"),
        ({"pipeline.cached-files": "name:../x,path:{here}"}, r"the name '\.\./x'"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    config: dict[str, str], words: str, tmp_path: Path, scratch: Path
) -> None:
    (tmp_path / "here.zip").write_bytes(b"")
    (tmp_path / "there.txt").write_bytes(b"")
    places = {"here": tmp_path / "here.zip", "there": tmp_path / "there.txt"}

    with pytest.raises(ProgramError, match=words):
        gathered({key: value.format_map(places) for key, value in config.items()}, scratch)


def played_pip(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let ``script`` run in the place of pip, with the target folder as ``target``."""
    program = folder / "python"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"target = pathlib.Path(sys.argv[sys.argv.index('--target') + 1])\n"
        f"target.mkdir()\n{script}\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


def test_packages_that_are_pure_python_are_sent_as_a_zip(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("small")
    played_pip(tmp_path, monkeypatch, "(target / 'small.py').write_text('')")

    found = gathered({"python.requirements": f"{tmp_path}/requirements.txt"}, scratch)

    assert names(found) == [["small.py"]]


def test_packages_that_are_not_are_refused_with_what_to_do(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("large")
    played_pip(tmp_path, monkeypatch, "(target / 'large.so').write_text('')")

    with pytest.raises(ProgramError, match=r"large\.so.*ship a virtual environment"):
        gathered({"python.requirements": f"{tmp_path}/requirements.txt"}, scratch)


def test_what_pip_says_is_shown_when_it_fails(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("none")
    played_pip(tmp_path, monkeypatch, "sys.exit('no such package')")

    with pytest.raises(ExternalError, match="no such package"):
        gathered({"python.requirements": f"{tmp_path}/requirements.txt"}, scratch)
