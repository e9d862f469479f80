"""Write the snapshots of this release: ``python -m tests.compatibility.make_corpus``.

To be run once, when the version of a release is set (``riverrun.__version__``), and its result committed.
A release whose formats are those of the one before needs none of its own; one that changes a format does
(``test_format`` says so). New kinds of state get a program, or a place in one, and come into the corpus
with the next release. Snapshots of older releases are never written again: they are what users have.

What is written is the same each time but for ids, times and the order in which tasks ran.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import riverrun
from tests.compatibility.commit_sink import committed
from tests.compatibility.held_source import HOLD
from tests.compatibility.kept import (
    CORPUS,
    EXPECTED,
    PARALLELISM,
    PATIENCE_S,
    PROGRAMS,
    go_on,
    snapshot_in,
    start,
)

HELD_AT: Final = 20
_BETWEEN: Final = 12
"""Where the first of two incremental checkpoints is taken."""
_RETAIN: Final = {
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.checkpointing.data-inline-threshold": "0 b",
    "execution.checkpointing.incremental": "true",
}
_AFTER_RESTARTS: Final = ("prepared before", "counted before")
"""Rows that only a job gives that goes on from a snapshot."""


def savepoint(program: str, target: Path, scratch: Path) -> None:
    """Take a savepoint in the middle of the program."""
    HOLD.close(HELD_AT, PROGRAMS[program].SPLITS, calls_wait=True)
    env, client = start(program, scratch / "results", PARALLELISM, {})
    with env:
        assert HOLD.reached.wait(PATIENCE_S)
        taken = client.trigger_savepoint(str(scratch)).result(PATIENCE_S)
        client.cancel().result(PATIENCE_S)
    shutil.move(taken, target)


def checkpoint(program: str, target: Path, scratch: Path) -> None:
    """Take two incremental checkpoints, and keep the second."""
    splits = PROGRAMS[program].SPLITS
    config = {
        **_RETAIN,
        "execution.checkpointing.dir": str(scratch),
        "execution.checkpointing.interval": "1 h",
        "state.backend.type": target.name,
    }
    HOLD.close(_BETWEEN, splits)
    env, client = start(program, scratch / "results", PARALLELISM, config)
    with env:
        assert HOLD.reached.wait(PATIENCE_S)
        client.trigger_checkpoint()
        HOLD.close(HELD_AT, splits, calls_wait=True)
        assert HOLD.reached.wait(PATIENCE_S)
        taken = Path(client.trigger_checkpoint())
        client.cancel().result(PATIENCE_S)
    _keep(taken, target)


def unaligned(program: str, target: Path, scratch: Path) -> None:
    """Take many unaligned checkpoints, and keep one that has records in flight on several edges."""
    config = {
        **_RETAIN,
        "execution.checkpointing.dir": str(scratch),
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.unaligned.enabled": "true",
        "execution.checkpointing.num-retained": "100",
    }
    HOLD.close(PROGRAMS[program].PER_KEY - 1, PROGRAMS[program].SPLITS)
    env, client = start(program, scratch / "results", PARALLELISM, config)
    with env:
        assert HOLD.reached.wait(PATIENCE_S)
        client.cancel().result(PATIENCE_S)
    taken = max(scratch.rglob("_metadata"), key=_in_flight)
    assert _in_flight(taken), "no checkpoint has records in flight"
    _keep(taken.parent, target)


def _in_flight(metadata: Path) -> int:
    body = json.loads(metadata.read_text().splitlines()[1])
    edges = [channel["edge"] for task in body["subtasks"] for channel in task["channels"]]
    return 1000 * len(set(edges)) + len(edges)


def _keep(taken: Path, target: Path) -> None:
    """Copy a checkpoint as a job's folder, with those shared files that it needs."""
    shutil.copytree(taken, target / taken.name)
    needed = (taken / "_metadata").read_text()
    for path in (taken.parent / "shared").glob("*"):
        if f"shared/{path.name}" in needed:
            (target / "shared").mkdir(exist_ok=True)
            shutil.copy(path, target / "shared")


def make(program: str, folder: Path) -> None:
    """All snapshots of one program, and what it gives when it goes on from them."""
    expected = {}
    ways = (
        {"unaligned": unaligned}
        if program == "in_flight"
        else {"savepoint": savepoint, "hashmap": checkpoint, "rocksdb": checkpoint}
    )
    for name, take in ways.items():
        with tempfile.TemporaryDirectory() as scratch:
            take(program, folder / name, Path(scratch))
            HOLD.open()
            results = Path(scratch) / "after"
            backend = "rocksdb" if name == "rocksdb" else "hashmap"
            rows = go_on(program, snapshot_in(folder / name), results, PARALLELISM, backend)
        expected[name] = [json.loads(row) for row in rows]
    if "savepoint" in expected:
        # The job that took it committed nothing, so all is left to the one that goes on.
        found = [json.dumps(row) for row in expected["savepoint"] if row[0] not in _AFTER_RESTARTS]
        assert found == whole(program), f"{program}: the savepoint is not where the job stood"
    lines = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in expected.items()
    ]
    (folder / EXPECTED).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def whole(program: str) -> list[str]:
    """The rows of a job that stands still where snapshots are taken, and goes on by itself."""
    with tempfile.TemporaryDirectory() as scratch:
        HOLD.close(HELD_AT, PROGRAMS[program].SPLITS)
        env, client = start(program, Path(scratch), PARALLELISM, {})
        with env:
            assert HOLD.reached.wait(PATIENCE_S)
            HOLD.open()
            client.get_job_execution_result().result(PATIENCE_S)
        return committed(Path(scratch))


def main(release: str) -> None:
    """Write the corpus of ``release`` anew."""
    folder = CORPUS / release
    shutil.rmtree(folder, ignore_errors=True)
    for program in PROGRAMS:
        make(program, folder / program)
        size = sum(path.stat().st_size for path in (folder / program).rglob("*") if path.is_file())
        sys.stdout.write(f"{program}: {size} bytes\n")


if __name__ == "__main__":
    main(riverrun.__version__)
