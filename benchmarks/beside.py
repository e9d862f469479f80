"""The benchmarks that are no cells of the table: each is run as it is, and what it prints is kept."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.provenance import command
from benchmarks.results import FOLDER, Beside, Results
from benchmarks.setup_peers import ROOT

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "benchmarks.latency": (),
    "benchmarks.checkpoints": ("--part", "throughput"),
    "benchmarks.many_keys": (),
    "benchmarks.exchange": (),
    "benchmarks.growth": (),
}
"""With their flags, in the order in which they are run."""
LATENCY: Final = FOLDER / "latency.json"
_COLUMNS: Final = "110"
_DEADLINE_SECONDS: Final = 1800
_LAST_LINES: Final = 60


def run_beside(results: Results, console: Console, path: Path) -> None:
    """Run those that have not ended well yet; one that fails does not keep the others from it."""
    for module, flags in MODULES.items():
        done = results.beside.get(module)
        if (done is not None and done.succeeded) or importlib.util.find_spec(module) is None:
            continue
        words = ["-m", module, *flags]
        with console.status(command(["", *words])):
            results.beside[module] = said = run_one(words)
        console.print(said.output, markup=False, highlight=False)
        if not said.succeeded:
            console.print(f"{said.command} failed", style="red")
        if module == "benchmarks.latency" and said.succeeded:
            results.latency = saved_latency()
        results.save(path)


def run_one(words: list[str], deadline_seconds: float = _DEADLINE_SECONDS) -> Beside:
    """What a Python command prints, without the paths of this machine."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": _COLUMNS}
    shown = command(["", *words])
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=deadline_seconds,
        )
    except subprocess.TimeoutExpired:
        return Beside(shown, f"ran past {deadline_seconds:g} s", succeeded=False)
    succeeded = done.returncode == 0
    printed = done.stdout if succeeded else done.stdout + done.stderr
    lines = printed.replace(f"{ROOT}{os.sep}", "").splitlines()
    return Beside(shown, "\n".join(lines[-_LAST_LINES:]), succeeded)


def saved_latency(file: Path = LATENCY) -> Mapping[str, Any]:
    """What ``benchmarks.latency`` saved last; empty where it saved nothing."""
    found: Mapping[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found
