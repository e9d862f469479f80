"""Archives in the form that executors unpack, and how functions find what was brought."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from riverrun.core.errors import ProgramError
from riverrun.graph.program_code import CodeFile, ProgramCode
from riverrun.spark.driver.archives import as_tar
from riverrun.spark.driver.shipping import python_of, shipped_name, unpacked_name
from riverrun.spark.worker.brought import Brought


def test_a_zip_keeps_its_permissions_and_links(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.mkdir("bin")
        program = zipfile.ZipInfo("bin/run")
        program.external_attr = (stat.S_IFREG | 0o755) << 16
        archive.writestr(program, "#!/bin/sh")
        link = zipfile.ZipInfo("bin/also")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "run")
        archive.writestr("plain.txt", "words")

    as_tar(tmp_path / "a.zip", tmp_path / "a.tar.gz")
    subprocess.run(["tar", "xzf", "a.tar.gz"], cwd=tmp_path, check=True)

    assert os.access(tmp_path / "bin" / "run", os.X_OK)
    assert (tmp_path / "bin" / "also").readlink() == Path("run")
    assert (tmp_path / "plain.txt").read_text() == "words"


@pytest.mark.parametrize("form", ["w", "w:gz", "w:bz2", "w:xz"])
def test_every_form_of_tar_becomes_one(form: str, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("words")
    with tarfile.open(tmp_path / "a", form) as tar:  # type: ignore[call-overload]
        tar.add(tmp_path / "words", "words")

    as_tar(tmp_path / "a", tmp_path / "b.tar.gz")

    with tarfile.open(tmp_path / "b.tar.gz", "r:gz") as tar:
        assert tar.getnames() == ["words"]


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
def test_nothing_is_unpacked_outside(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo(name))

    for each in ("a.zip", "a.tar"):
        with pytest.raises(ProgramError, match="outside of it"):
            as_tar(tmp_path / each, tmp_path / "b.tar.gz")
    assert not (tmp_path / "b.tar.gz").exists()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("no archive")

    with pytest.raises(ProgramError, match="got neither"):
        as_tar(tmp_path / "a.zip", tmp_path / "b.tar.gz")


def test_an_interpreter_is_found_in_its_archive_or_where_it_is() -> None:
    venv = CodeFile("venv", "ab" * 32, "/x")
    code = ProgramCode(archives=(venv,), python="./venv/bin/python")

    assert python_of(code, "/files") == f"/files/{unpacked_name(venv)}/bin/python"
    assert python_of(ProgramCode(archives=(venv,), python="/usr/bin/python"), ".") == (
        "/usr/bin/python"
    )
    assert python_of(ProgramCode(), ".") is None


def test_code_that_differs_in_anything_is_told_apart() -> None:
    file = CodeFile("a.zip", "ab" * 32, "/x")
    codes = [
        ProgramCode(),
        ProgramCode(files=(file,)),
        ProgramCode(archives=(file,)),
        ProgramCode(data=(file,)),
        ProgramCode(data=(file,), programs=("a.zip",)),
        ProgramCode(python="a.zip"),
    ]

    assert len({code.digest() for code in codes}) == len(codes)


def test_functions_find_what_was_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = CodeFile("words", "ab" * 32, "/x")
    (tmp_path / shipped_name(file)).write_text("words")
    (tmp_path / "modules.zip").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    brought = Brought(
        code="c0de",
        modules=("modules.zip", "more.zip"),
        linked=(("words", shipped_name(file)),),
        programs=("words",),
    )

    brought.unpack(str(tmp_path))
    brought.unpack(str(tmp_path))  # the next task in the same worker

    assert sys.path == [str(tmp_path / "modules.zip"), str(tmp_path / "more.zip"), "/elsewhere"]
    assert Path("words").read_text() == "words"
    assert os.access("words", os.X_OK)
