"""The corpus: snapshots that releases of riverrun wrote, and what programs give that go on from them.

    corpus/<release>/<program>/
        expected.json       by the name of the snapshot: the rows that a job gives that goes on from it
        savepoint/          in the open format
        hashmap/            a checkpoint that was kept, as a job's folder: chk-<n>/, shared/
        rocksdb/
        unaligned/          a checkpoint with records in flight

``make_corpus`` writes those of the release that is being made; nobody ever changes those of older ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from tests.compatibility.commit_sink import CommitSink, committed
from tests.compatibility.programs import columns, in_flight, operators, states, windows

CORPUS: Final = Path(__file__).with_name("corpus")
EXPECTED: Final = "expected.json"
PARALLELISM: Final = 2
"""Of the jobs that wrote the corpus."""
PATIENCE_S: Final = 60.0
PROGRAMS: Final[dict[str, Any]] = {
    "states": states,
    "windows": windows,
    "columns": columns,
    "operators": operators,
    "in_flight": in_flight,
}
"""The programs that wrote it. A release may add to them, and change them only as users may: see the guide."""
_MASTER: Final = {"riverrun.master": "in-process", "riverrun.in-process.seed": "17"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One snapshot of the corpus."""

    release: str
    program: str
    name: str
    """``savepoint``, or how the checkpoint was written."""

    @property
    def id(self) -> str:
        """For people."""
        return f"{self.release}-{self.program}-{self.name}"

    @property
    def folder(self) -> Path:
        """The savepoint, or the job's folder with the checkpoint."""
        return CORPUS / self.release / self.program / self.name

    @property
    def backend(self) -> str:
        """What the job that wrote it kept its state in."""
        return "rocksdb" if self.name == "rocksdb" else "hashmap"

    def expected(self) -> list[str]:
        """The rows of a job that goes on from it, sorted."""
        found = json.loads((self.folder.parent / EXPECTED).read_text())[self.name]
        return [json.dumps(row) for row in found]


def entries() -> list[Entry]:
    """Everything that is in the corpus."""
    return [
        Entry(folder.parts[-3], folder.parts[-2], folder.name)
        for folder in sorted(CORPUS.glob("*/*/*/"))
        if folder.is_dir()
    ]


def snapshot_in(folder: Path) -> Path:
    """The snapshot that an entry's folder, or a copy of it, holds: where its `_metadata` is."""
    (metadata,) = folder.rglob("_metadata")
    return metadata.parent


def start(
    program: str, results: Path, parallelism: int, config: Mapping[str, str]
) -> tuple[StreamExecutionEnvironment, JobClient]:
    """Start a program in this process; its rows go to ``results``."""
    env = StreamExecutionEnvironment.get_execution_environment({**_MASTER, **config})
    env.set_parallelism(parallelism)
    rows: DataStream = PROGRAMS[program].rows(env)
    rows.sink_to(CommitSink(str(results))).uid("rows")
    return env, env.execute_async(program)


def go_on(program: str, snapshot: Path, results: Path, parallelism: int, backend: str) -> list[str]:
    """Run a program from ``snapshot`` to its end; the rows that it commits, sorted."""
    config = {
        "execution.state-recovery.path": str(snapshot),
        "state.backend.type": backend,
    }
    env, client = start(program, results, parallelism, config)
    with env:
        client.get_job_execution_result().result(PATIENCE_S)
    return committed(results)


def files(folder: Path) -> Iterator[Path]:
    """Every file below ``folder``, sorted."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
