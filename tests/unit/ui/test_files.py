"""The page's files fit together, load nothing from elsewhere, and come along in a wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverrun.ui import FOLDER
from scripts.ui.vendor import COPIES

ROOT = Path(__file__).parents[3]
VENDOR = FOLDER / "vendor"
MODULES = sorted(path for path in FOLDER.rglob("*.js") if VENDOR not in path.parents)
OWN = [*MODULES, *sorted((FOLDER / "styles").glob("*.css")), FOLDER / "index.html"]
# Names of formats, which no browser ever asks for.
_NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
_UNSAFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(", re.IGNORECASE
)
_IMPORT = re.compile(
    r"""(?:^import\b[^;'"()]*|^export\s*[*{][^;'"]*\bfrom\s*|\bimport\(\s*)['"]([^'"]+)['"]""",
    re.MULTILINE,
)


def name(path: Path) -> str:
    return str(path.relative_to(FOLDER))


def imports(module: Path) -> Iterator[str]:
    return (found[1] for found in _IMPORT.finditer(module.read_text()))


def linked() -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', (FOLDER / "index.html").read_text())


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_a_module_imports_files_of_the_page_only(module: Path) -> None:
    for wanted in imports(module):
        assert wanted.startswith(("./", "../")), f"{wanted!r} is no path"
        assert (module.parent / wanted).is_file(), f"{wanted!r} is not there"
        assert (module.parent / wanted).resolve().is_relative_to(FOLDER), f"{wanted!r} is elsewhere"


def test_every_module_is_reached_from_the_first() -> None:
    reached = {FOLDER / "app.js"}
    ahead = list(reached)
    while ahead:
        module = ahead.pop()
        found = {(module.parent / wanted).resolve() for wanted in imports(module)} - reached
        reached |= found
        ahead += [path for path in found if VENDOR not in path.parents]

    assert {name(module) for module in MODULES} - {name(module) for module in reached} == set()


@pytest.mark.parametrize("file", OWN, ids=name)
def test_a_file_neither_makes_code_of_text_nor_names_another_server(file: Path) -> None:
    text = file.read_text()
    for namespace in _NAMESPACES:
        text = text.replace(namespace, "")

    assert _UNSAFE.findall(text) == []
    assert re.findall(r"(?:\w+:)?//[a-z0-9-]+\.[a-z]{2,}\S*", text) == []
    assert re.findall(r"(?:https?|wss?)://\S*", text) == []


def test_the_first_file_links_what_is_there_and_all_styles() -> None:
    found = set(linked())

    assert [each for each in found if not (FOLDER / each.removeprefix("ui/")).is_file()] == []
    styles = {f"ui/styles/{path.name}" for path in (FOLDER / "styles").glob("*.css")}
    assert styles - found == set()


def test_the_first_file_has_no_code_of_its_own() -> None:
    text = (FOLDER / "index.html").read_text()

    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son[a-z]+=", text) == []


def test_every_library_comes_with_its_licence() -> None:
    packages = {copy.package for copy in COPIES}
    licences = {copy.package: VENDOR / copy.name for copy in COPIES if "licences/" in copy.name}

    assert packages == licences.keys()
    assert all("permission" in path.read_text().lower() for path in licences.values())
    made = {copy.name for copy in COPIES}
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert {each for each in files if not each.endswith(".d.ts")} == made


def test_a_wheel_holds_the_page_once_and_nothing_that_python_left_there(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(
        ROOT / "riverrun", project / "riverrun", ignore=shutil.ignore_patterns("__pycache__")
    )
    for each in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / each, project)
    left = project / "riverrun" / "ui" / "__pycache__" / "left.cpython-311.pyc"
    left.parent.mkdir()
    left.write_bytes(b"left")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(tmp_path), str(project)]
    subprocess.run(command, check=True, capture_output=True)

    with zipfile.ZipFile(next(tmp_path.glob("riverrun-*.whl"))) as wheel:
        found = sorted(each for each in wheel.namelist() if each.startswith("riverrun/ui/"))
    page = [path for path in (project / "riverrun" / "ui").rglob("*") if path.is_file()]
    left_out = (".pyc", ".d.ts")
    names = (str(path.relative_to(project)) for path in page)
    assert found == sorted(each for each in names if not each.endswith(left_out))
