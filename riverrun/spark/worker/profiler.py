"""Where a process spends its time: its threads are looked at every few milliseconds, for a moment.

Nothing is left of it afterwards, and nothing is paid while nobody asks.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

from riverrun.protocol.inquiries import Sample, StackCounts

_OWN: Final = "riverrun-"
"""How the names of the threads begin that are not the task's."""
_MOST: Final = 10_000


def sample(wish: Sample) -> StackCounts:
    """Look at the threads of the task as often as wished; takes so long."""
    on_cpu: Counter[str] = Counter()
    off_cpu: Counter[str] = Counter()
    clocks: dict[int, int] = {}
    for _ in range(min(max(1, wish.samples), _MOST)):
        time.sleep(max(1, wish.delay_ms) / 1000)
        frames = sys._current_frames()  # noqa: SLF001  (documented, in spite of its name)
        for thread in threading.enumerate():
            frame = frames.get(thread.ident or 0)
            if frame is None or thread.name.startswith(_OWN):
                continue
            counts = on_cpu if _ran(thread, clocks) else off_cpu
            counts[stack_of(frame, wish.depth)] += 1
        del frames  # it would keep what the frames hold
    return StackCounts(dict(on_cpu), dict(off_cpu))


def stack_of(frame: FrameType | None, depth: int) -> str:
    """The calls that led to ``frame``, the outermost first, one a line; the innermost ``depth`` of them."""
    calls: list[str] = []
    while frame is not None and len(calls) < depth:
        code = frame.f_code
        module = frame.f_globals.get("__name__", "?")
        calls.append(f"{module}.{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return "\n".join(reversed(calls))


def _ran(thread: threading.Thread, clocks: dict[int, int]) -> bool:
    """Whether the thread used the CPU since the last look; also where the system does not say."""
    native = thread.native_id or 0
    try:
        used = int(Path(f"/proc/self/task/{native}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return True
    before = clocks.get(native)
    clocks[native] = used
    return before is None or used > before
