"""A function that rides in a job and lets its worker die, or its disk be full, at a chosen operation of the store.

The test and the workers talk through small files in a folder:

    record      while it is there, every operation is written to ``operations``
    armed       which operation of which rider to die at; renamed to ``struck`` right before the end
    full        while it is there, files of the riders' processes cannot grow
"""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from riverrun.api.functions import MapFunction
from riverrun.storage.local import LocalStorage
from riverrun.storage.unfinished import unfinished_name

Moment = Literal["before", "middle", "after"]

_METHODS = ("write", "upload", "read", "download", "delete")
_SMALL = 64


@dataclass(frozen=True, slots=True)
class Target:
    """An operation of the store in the process of one rider, counted from the last ``arm``."""

    rider: str
    kind: str
    number: int
    moment: Moment = "before"

    def __str__(self) -> str:
        return f"{self.moment} {self.kind} {self.number} of {self.rider}"


class Saboteur:
    """The test's end: says what shall happen, and sees what happened."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder

    def rider(self, name: str) -> Rider:
        """A function to put into the job."""
        return Rider(name, str(self._folder))

    def record(self, *, on: bool) -> None:
        """Begin or end to note all operations."""
        _set(self._folder / "record", on=on)

    def operations(self) -> list[tuple[str, str, int]]:
        """Rider, kind and number of each operation that was noted."""
        path = self._folder / "operations"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(str(rider), str(kind), int(n)) for rider, kind, n in map(json.loads, lines)]

    def arm(self, target: Target) -> None:
        """Let the worker die there."""
        (self._folder / "struck").unlink(missing_ok=True)
        aside = self._folder / "arming"
        # Different each time: operations are counted anew.
        aside.write_text(json.dumps([asdict(target), uuid.uuid4().hex]))
        aside.rename(self._folder / "armed")

    def disarm(self) -> None:
        """Let all workers live."""
        (self._folder / "armed").unlink(missing_ok=True)

    def has_struck(self) -> bool:
        """Whether the worker died there."""
        return (self._folder / "struck").exists()

    def disk_full(self, *, on: bool) -> None:
        """Let files of the riders' processes stay small, or grow again."""
        _set(self._folder / "full", on=on)


class Rider(MapFunction):
    """Passes records on. Watches the store from the moment when it arrives in a process."""

    def __init__(self, name: str, folder: str) -> None:
        self._name, self._folder = name, folder
        self._home = os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if os.getpid() != self._home:
            # Not in open: state is read back before that.
            watch(self._name, Path(self._folder))

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        unwatch()


class _Watch:
    def __init__(self, rider: str, folder: Path) -> None:
        self._rider, self._folder = rider, folder
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._seen: str | None = None

    def wrapped(self, kind: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def watched(store: LocalStorage, *args: Any, **more: Any) -> Any:
            moment = self._begin(kind)
            if moment == "before":
                self._die()
            if moment == "middle":
                self._leave_half(kind, args)
                self._die()
            answer = operation(store, *args, **more)
            if moment == "after":
                self._die()
            return answer

        return watched

    def _begin(self, kind: str) -> str | None:
        """Count the operation; when to die, if in this one."""
        _limit(small=(self._folder / "full").exists())
        with self._lock:
            armed = self._read_armed()
            if armed != self._seen:
                self._seen, self._counts = armed, {}
            number = self._counts.get(kind, 0)
            self._counts[kind] = number + 1
        if (self._folder / "record").exists():
            with (self._folder / "operations").open("a") as log:
                log.write(json.dumps([self._rider, kind, number]) + "\n")
        if armed is None:
            return None
        described, _ = json.loads(armed)
        target = Target(**described)
        hit = (target.rider, target.kind, target.number) == (self._rider, kind, number)
        return target.moment if hit else None

    def _read_armed(self) -> str | None:
        try:
            return (self._folder / "armed").read_text()
        except FileNotFoundError:
            return None

    def _leave_half(self, kind: str, args: tuple[Any, ...]) -> None:
        data = Path(args[0]).read_bytes() if kind == "upload" else bytes(args[1])
        location = str(args[1] if kind == "upload" else args[0])
        half = Path(unfinished_name(location))
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(data[: len(data) // 2])

    def _die(self) -> None:
        try:
            (self._folder / "armed").rename(self._folder / "struck")
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


_original: dict[str, Callable[..., Any]] = {}


def watch(rider: str, folder: Path) -> None:
    """Watch the store of this process."""
    unwatch()
    watching = _Watch(rider, folder)
    for kind in _METHODS:
        _original[kind] = getattr(LocalStorage, kind)
        setattr(LocalStorage, kind, watching.wrapped(kind, _original[kind]))


def unwatch() -> None:
    """Leave the store of this process alone again: it may host a task of another job."""
    _limit(small=False)
    for kind, operation in _original.items():
        setattr(LocalStorage, kind, operation)
    _original.clear()


def _limit(*, small: bool) -> None:
    """Let writes fail as on a full disk: the file takes a part of the bytes, and then no more."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_SMALL if small else hard, hard))


def _set(path: Path, *, on: bool) -> None:
    if on:
        path.touch()
    else:
        path.unlink(missing_ok=True)
