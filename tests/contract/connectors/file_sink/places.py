"""Where a sink writes, as somebody else sees it; and a sink whose process dies at a chosen step."""

from __future__ import annotations

import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from riverrun.connectors.files import sink_builder, sink_committer
from riverrun.connectors.files.output_open import open_output
from riverrun.connectors.files.output_parts import Lineage, OutputFiles, PartFile
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.files.sink_state import Discarded
from riverrun.testing.conformance.sink_run import SavedSink, SinkRun
from tests.contract.storage.conftest import S3Server


class Place(ABC):
    """Folders for sinks, one after the other."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._numbers = itertools.count()

    @property
    @abstractmethod
    def config(self) -> Mapping[str, str]:
        """How a sink gets there."""

    def folder(self) -> str:
        """A folder that nobody has used."""
        return f"{self._root}/out-{next(self._numbers)}"

    def visible(self, folder: str) -> dict[str, bytes]:
        """The content of all files that readers see, by their paths below ``folder``."""
        return self._content(folder, hidden=False)

    def hidden(self, folder: str) -> list[str]:
        """The paths of all other files."""
        return sorted(set(self._content(folder, hidden=True)) - set(self.visible(folder)))

    def lines(self, folder: str) -> list[str]:
        """The lines of all files that readers see."""
        return [
            line for data in self.visible(folder).values() for line in data.decode().splitlines()
        ]

    @abstractmethod
    def uploads(self, folder: str) -> list[str]:
        """The keys of uploads that were begun and neither completed nor aborted."""

    def _content(self, folder: str, *, hidden: bool) -> dict[str, bytes]:
        store = FileStore(self.config)
        if not store.is_folder(folder):
            return {}
        found = {}
        for info in store.files(folder, hidden=hidden):
            with store.open(info.location) as stream:
                found[info.location[len(folder) + 1 :]] = stream.read()
        return found


class LocalPlace(Place):
    """Folders of this machine."""

    @property
    def config(self) -> Mapping[str, str]:
        return {}

    def uploads(self, folder: str) -> list[str]:
        del folder
        return []

    def path(self, folder: str) -> Path:
        return Path(folder)


class S3Place(Place):
    """Folders of a bucket."""

    def __init__(self, root: str, server: S3Server) -> None:
        super().__init__(root)
        self._server = server

    @property
    def config(self) -> Mapping[str, str]:
        return {**self._server.config(), "riverrun.s3.request-timeout": "10 s"}

    def uploads(self, folder: str) -> list[str]:
        outputs: Any = open_output(folder, Lineage("0" * 12, 0, 1), self.config)
        return sorted(location for location, _ in outputs._uploads())


class Died(BaseException):
    """The process is gone; nobody handles that."""


class Steps:
    """Counts what a sink does to its store, and dies before or after a step.

    Args:
        at: which step; None: never.
        after: whether the step is done when the process dies.
    """

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.taken: list[str] = []
        self._at = at
        self._after = after
        self._parts: list[PartFile] = []

    def take(self, name: str, step: Callable[[], Any]) -> Any:
        number = len(self.taken)
        self.taken.append(name)
        if number == self._at and not self._after:
            raise Died(name)
        result = step()
        if number == self._at:
            raise Died(name)
        return result

    def mortal(self, part: PartFile) -> Any:
        self._parts.append(part)
        return MortalPart(part, self)

    def bury(self) -> None:
        """Close what the dead process had open; what was in its buffers may reach the disk late."""
        for part in self._parts:
            part.abandon()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def opened(base: str, lineage: Lineage, config: Mapping[str, str]) -> MortalOutput:
            return MortalOutput(open_output(base, lineage, config), self)

        monkeypatch.setattr(sink_builder, "open_output", opened)
        monkeypatch.setattr(sink_committer, "open_output", opened)


class MortalPart:
    """A part, each of whose operations is a step."""

    def __init__(self, part: PartFile, steps: Steps) -> None:
        self._part = part
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name not in {"write", "persist", "finish"}:
            return found
        return lambda *args: self._steps.take(f"part.{name}", lambda: found(*args))


class MortalOutput:
    """Outputs, each of whose operations is a step; what goes over several files is one for each."""

    def __init__(self, outputs: OutputFiles, steps: Steps) -> None:
        self._outputs = outputs
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._outputs, name)
        if name not in {"hold", "adopt", "promote", "leftovers", "note_end", "mark_complete"}:
            return found
        return lambda *args: self._steps.take(name, lambda: found(*args))

    def open(self, bucket: str, name: str, *, held: bool = False) -> Any:
        def made() -> Any:
            return self._steps.mortal(self._outputs.open(bucket, name, held=held))

        return self._steps.take("open", made)

    def resume(self, part: Any, name: str) -> Any:
        def made() -> Any:
            resumed = self._outputs.resume(part, name)
            return None if resumed is None else self._steps.mortal(resumed)

        return self._steps.take("resume", made)

    def commit(self, pending: Sequence[Any], *, last: bool = False) -> None:
        for each in pending:
            self._steps.take("commit", partial(self._outputs.commit, [each], last=last))

    def discard(self, discarded: Discarded) -> None:
        for file in discarded.files:
            self._steps.take("discard", partial(self._outputs.discard, Discarded((file,))))
        for upload in discarded.uploads:
            self._steps.take("discard", partial(self._outputs.discard, Discarded((), (upload,))))


def drive(
    sink: FileSink,
    epochs: Sequence[Sequence[Any]],
    parallelisms: Iterable[int] = (2, 3, 1),
    steps: Steps | None = None,
) -> int:
    """Write an epoch of records for each checkpoint, going on from the latest one after every death.

    Each start takes the next of ``parallelisms``; the number of starts is returned.
    """
    saved: SavedSink | None = None
    begin = 0
    for starts, parallelism in enumerate(parallelisms, 1):
        try:
            run = SinkRun(pickle.loads(pickle.dumps(sink)), parallelism, saved)
            for number in range(begin, len(epochs)):
                for subtask in range(parallelism):
                    run.write(subtask, list(epochs[number][subtask::parallelism]))
                run.flush(end_of_input=number == len(epochs) - 1)
                run.prepare(number)
                saved = pickle.loads(pickle.dumps(run.save(number)))
                begin = number + 1
                run.complete(number)
            run.close()
        except Died:
            assert steps is not None
            steps.bury()
            continue
        return starts
    raise AssertionError("the sink died more often than there are parallelisms")
