from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from riverrun.client.code_files import own_modules
from riverrun.cluster.submission.packing import modules_in, pack


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lonely_module_x.py").write_text("A = 1")
    package = tmp_path / "own_package_x"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "data.txt").write_text("data")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_bytes(b"")
    (tmp_path / "unused_module_x.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def imported(project: Path) -> Iterator[dict[str, ModuleType]]:
    names = ("lonely_module_x", "own_package_x", "own_package_x.inner")
    modules = {name: importlib.import_module(name) for name in names}
    yield {**modules, "json": sys.modules["json"], "riverrun": sys.modules["riverrun"]}
    for name in names:
        sys.modules.pop(name)


def test_imported_modules_of_the_program_go_along_and_installed_ones_stay(
    imported: dict[str, ModuleType],
) -> None:
    found = own_modules(imported)

    assert sorted(found) == [
        "lonely_module_x.py",
        "own_package_x/__init__.py",
        "own_package_x/inner/__init__.py",
        "own_package_x/inner/data.txt",
    ]


def test_added_folders_and_files_go_along_whole(project: Path) -> None:
    found = modules_in(project / "own_package_x") | modules_in(project / "unused_module_x.py")

    assert "unused_module_x.py" in found
    assert "inner/data.txt" in found


def test_the_same_files_make_the_same_bytes(project: Path, tmp_path: Path) -> None:
    files = {"b.py": project / "unused_module_x.py", "a.py": project / "lonely_module_x.py"}
    pack(files, tmp_path / "one.zip")
    pack(dict(reversed(files.items())), tmp_path / "two.zip")

    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert zipfile.ZipFile(tmp_path / "one.zip").read("a.py") == b"A = 1"
