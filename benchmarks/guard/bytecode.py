"""How many instructions of the interpreter work takes: exact, whatever else the machine does.

What a path does in Python for each record shows here to the last instruction; what it does in C, not at
all. A busy machine, another processor or another build of the same Python change nothing.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

UNIT: Final = "bytecode"


def instructions(work: Callable[[], int]) -> float:
    """Instructions of bytecode that this thread executes a record; ``work`` returns how many it handled."""
    executed = 0

    def step(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal executed
        if event == "opcode":
            executed += 1
        return step

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        records = work()
    finally:
        sys.settrace(before)
    return executed / records
