"""What stands in the documents is true: programs run, links lead somewhere.

A block of code begins with one of these lines:

* ```python runnable   it runs in-process; a block ```text output after it is what it prints
* ```python fragment   a part of a program, or one that needs Spark; it must be Python, and is not run
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from riverrun.compat.pyflink import uninstall

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
KINDS = {"python runnable", "python fragment"}


@dataclass(frozen=True)
class Block:
    """A block of code in a page."""

    page: str
    line: int
    info: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            name = str(page.relative_to(ROOT))
            found.append(Block(name, line, match["info"], match["text"]))
    return found


def outputs() -> dict[Block, str]:
    """What a block prints, for the blocks that are followed by it."""
    every = blocks()
    return {
        block: after.text
        for block, after in pairwise(every)
        if after.info == "text output" and after.page == block.page
    }


@pytest.fixture(autouse=True)
def clean_process() -> Iterator[None]:
    """A program about PyFlink installs its names."""
    yield
    uninstall()


RUNNABLE = [block for block in blocks() if block.info == "python runnable"]
OUTPUTS = outputs()


@pytest.mark.parametrize("block", RUNNABLE, ids=str)
def test_a_program_in_a_document_prints_what_the_document_says(
    block: Block,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RIVERRUN_MASTER", "in-process")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "program.py"
    script.write_text(block.text)

    runpy.run_path(str(script), run_name="__main__")

    if block in OUTPUTS:
        assert capsys.readouterr().out == OUTPUTS[block]


def test_every_block_of_python_says_whether_it_runs() -> None:
    python = [block for block in blocks() if block.info.startswith("python")]

    assert [str(block) for block in python if block.info not in KINDS] == []


def test_a_fragment_is_python() -> None:
    for block in blocks():
        if block.info == "python fragment":
            ast.parse(block.text, filename=str(block))


def test_only_a_program_that_runs_has_an_output() -> None:
    assert [str(block) for block in OUTPUTS if block.info != "python runnable"] == []


def test_links_lead_to_files_that_exist() -> None:
    broken = []
    for page in PAGES:
        for match in LINK.finditer(page.read_text()):
            target = match["target"].partition("#")[0]
            is_outside = re.match(r"[a-z]+:", target) is not None
            if target and not is_outside and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert broken == []
