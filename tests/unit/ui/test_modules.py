"""The page's own modules, by Node: each file of tests/ui/js is a test here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NODE = ROOT / ".venv" / "bin" / "node"
FILES = sorted((ROOT / "tests" / "ui" / "js").glob("test_*.mjs"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_module_does_what_its_tests_say(file: Path) -> None:
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=tap", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "# tests 0" not in done.stdout, f"{file.name} has no tests"
