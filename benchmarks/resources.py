"""CPU time and memory of a process with all that it started, read from ``/proc``.

Standard library only, because each peer imports it with its own interpreter. Where there is no
``/proc``, nothing is known and the answers are ``None``.

CPU time is exact, not sampled: the kernel adds the time of a process that ended to the parent that
waited for it, and keeps it visible as a zombie until then. The one way to lose it is to be left
behind by a parent that ended first; :func:`adopt_orphans` closes it.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

_PROC: Final = Path("/proc")
_PR_SET_CHILD_SUBREAPER: Final = 36
_READINGS: Final = 20
_INTERVAL_SECONDS: Final = 0.3
_COST_SHARE: Final = 0.02
"""How much of one core watching may take; where reading is dear, it is done less often."""
_GONE: Final = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True, slots=True)
class Process:
    """What ``/proc/<pid>/stat`` says; times are in clock ticks.

    Attributes:
        pid: Its number, which another process may have later.
        parent: The number of its parent.
        session: The number of the process that leads its session.
        started: When it started, since boot; with ``pid`` it names a process for good.
        cpu: What it took, with the children that it waited for.
    """

    pid: int
    parent: int
    session: int
    started: int
    cpu: int


def parse(stat: str) -> Process:
    """The process that a line of ``/proc/<pid>/stat`` describes; a name may hold anything.

    >>> parse("7 (a) b) S 1 7 5 0 -1 4 0 0 0 0 10 20 3 4 20 0 1 0 900 0")
    Process(pid=7, parent=1, session=5, started=900, cpu=37)
    """
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    cpu = sum(map(int, fields[11:15]))
    pid = int(head.partition(" ")[0])
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), cpu)


def processes() -> dict[int, Process]:
    """All that run now, and zombies, by number; empty where there is no ``/proc``."""
    found = {}
    with suppress(*_GONE):
        for name in os.listdir(_PROC):  # noqa: PTH208 - half the time, and it runs beside what is measured
            if name.isdigit():
                with suppress(*_GONE):
                    found[int(name)] = parse((_PROC / name / "stat").read_text(errors="replace"))
    return found


def family(root: int, found: Mapping[int, Process], session: int | None = None) -> list[Process]:
    """``root`` and its descendants, with the members of ``session`` and their descendants.

    >>> by_number = {n: Process(n, parent, 1, 0, 0) for n, parent in ((1, 0), (2, 1), (3, 2), (4, 0))}
    >>> [process.pid for process in family(2, by_number)]
    [2, 3]
    """
    children: dict[int, list[int]] = {}
    for process in found.values():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = [root, *(each.pid for each in found.values() if each.session == session)]
    members: dict[int, Process] = {}
    while waiting:
        pid = waiting.pop()
        if pid in found and pid not in members:
            members[pid] = found[pid]
            waiting += children.get(pid, ())
    return list(members.values())


def adopt_orphans() -> None:
    """From now on a descendant whose parent ends becomes a child of this process, not of init.

    So descendants stay descendants, also those that lead sessions of their own, and their CPU time
    stays in :func:`cpu_seconds`.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds(read: Callable[[], Mapping[int, Process]] = processes) -> float | None:
    """What this process and its descendants have taken so far, those that ended included."""
    previous: list[Process] = []
    for _ in range(_READINGS):
        current = family(os.getpid(), read())
        # One that ended while the first reading was taken may be in it twice, with its parent too.
        if previous and _names(previous) <= _names(current):
            break
        previous = current
    if not previous:
        return None
    return sum(process.cpu for process in previous) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pids: Collection[int]) -> int:
    """What these processes hold together; a page that they share counts once (RSS: in each)."""
    return sum(map(_memory, pids))


class MemoryWatch:
    """Looks, while the ``with`` block runs, at how much memory a session holds.

    Attributes:
        peak_bytes: The most that was seen; ``None`` where nothing is known.
        seen: Number and start of every process that was seen.
    """

    def __init__(self, leader: int, interval_seconds: float = _INTERVAL_SECONDS) -> None:
        self.peak_bytes: int | None = None
        self.seen: set[tuple[int, int]] = set()
        self._leader = leader
        self._interval = interval_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "MemoryWatch":  # noqa: PYI034 - a peer's Python may have no Self
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def survivors(self) -> list[int]:
        """The numbers of those seen, now or before, that still run."""
        now = processes()
        seen = self.seen | _names(family(self._leader, now, session=self._leader))
        return [pid for pid, started in seen if pid in now and now[pid].started == started]

    def _watch(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            before = time.thread_time()
            members = family(self._leader, processes(), session=self._leader)
            self.seen |= _names(members)
            held = memory_bytes([member.pid for member in members])
            if held:
                self.peak_bytes = max(held, self.peak_bytes or 0)
            pause = max(self._interval, (time.thread_time() - before) / _COST_SHARE)


def _names(found: Collection[Process]) -> set[tuple[int, int]]:
    return {(process.pid, process.started) for process in found}


def _memory(pid: int) -> int:
    for file, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        with suppress(OSError):
            for line in (_PROC / str(pid) / file).read_text(errors="replace").splitlines():
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    return 0
