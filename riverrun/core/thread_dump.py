"""What the threads of this process are doing."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Mapping
from types import FrameType

import msgspec


class ThreadStack(msgspec.Struct, frozen=True):
    """A thread and its stack as text, innermost call first."""

    name: str
    text: str


def thread_stacks(names: Mapping[int, str] | None = None) -> list[ThreadStack]:
    """All threads of Python's, by name.

    Args:
        names: thread id -> the name to show instead of the thread's own.
    """
    names = names or {}
    threads = {thread.ident: thread for thread in threading.enumerate()}
    stacks = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001  (documented, in spite of its name)
        thread = threads.get(ident)
        name = names.get(ident) or (f"thread {ident}" if thread is None else thread.name)
        kind = " daemon" if thread is not None and thread.daemon else ""
        native = "" if thread is None else f" nid={thread.native_id}"
        stacks.append(ThreadStack(name, f'"{name}"{kind} Id={ident}{native}\n{_calls(frame)}'))
    return sorted(stacks, key=lambda stack: stack.name)


def _calls(frame: FrameType) -> str:
    calls = reversed(traceback.extract_stack(frame))
    return "".join(f"\tat {call.name} ({call.filename}:{call.lineno})\n" for call in calls)
