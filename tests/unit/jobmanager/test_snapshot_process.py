"""Snapshots are read in a process of its own, which may end at any time."""

from __future__ import annotations

import os
import signal
import sys
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.jobmanager.snapshot_process import SnapshotProcess
from riverrun.rest.problems import HttpProblem
from riverrun.testing.waiting import wait_until
from tests.unit.state_processor.made_checkpoints import Operator

VALUES = ValueStateDescriptor("values")
PROGRAM = """
import os
print("this is no answer")
class Loud:
    def __setstate__(self, state):
        print("nor is this")
class Deadly:
    def __setstate__(self, state):
        os._exit(3)
class Waits:
    def __setstate__(self, state):
        import time
        time.sleep(1000)
"""


@pytest.fixture
def reader() -> Iterator[SnapshotProcess]:
    reader = SnapshotProcess({})
    yield reader
    reader.close()


def saved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Keys whose values do what they should not, of a module that the process finds."""
    (folder / "made_program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    module = types.ModuleType("made_program")
    exec(PROGRAM, module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    operator = Operator(folder, "rocksdb")
    for kind in (module.Loud, module.Deadly, module.Waits):
        value = kind()
        value.state = 1
        at: Any = operator.at(kind.__name__)
        at.state(VALUES).update(value)
    path = operator.checkpoint().location
    operator.close()
    return path


def test_one_process_answers_and_another_when_it_is_gone(
    reader: SnapshotProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, monkeypatch)
    assert reader.states(path).operators[0].states[0].entries == 3
    first = reader._process
    assert first is not None
    found = reader.lookup(path, "customers", "values", "Loud")
    assert (found.found, found.entries[0].value.type) == (True, "Loud")  # type: ignore[union-attr]
    assert reader._process is first
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert reader.lookup(path, "customers", "values", "Loud").found
    with pytest.raises(HttpProblem, match="there is no checkpoint") as refused:
        reader.states("/nowhere")
    assert refused.value.status == 404


def test_nobody_waits_for_an_answer_when_it_is_closed(
    reader: SnapshotProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, monkeypatch)
    assert reader.lookup(path, "customers", "values", "Loud").found
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(reader.lookup, path, "customers", "values", "Waits")
        wait_until(reader._lock.locked, what="the question")
        reader.close()
        with pytest.raises(HttpProblem, match="the JobManager is ending"):
            asked.result()


def test_code_that_ends_or_blocks_the_process_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, monkeypatch)
    reader = SnapshotProcess({})
    try:
        with pytest.raises(HttpProblem, match="ended before it answered, twice"):
            reader.lookup(path, "customers", "values", "Deadly")
        assert reader.lookup(path, "customers", "values", "Loud").found
        reader._patience_s = 0.5
        with pytest.raises(HttpProblem, match="no answer after") as refused:
            reader.lookup(path, "customers", "values", "Waits")
        assert refused.value.status == 409
        assert reader._process is None
    finally:
        reader.close()
