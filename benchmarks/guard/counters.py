"""What work costs: instructions of this thread where the machine counts them, CPU time where not.

Instructions hardly depend on what else the machine does. Many virtual machines hide the counter, and
kernels may forbid it; then the CPU time of this thread has to do, which is why a path's cost is only
ever looked at beside that of a loop measured in the same moments.
"""

import ctypes
import gc
import os
import platform
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from riverrun.runtime.roomy import roomy

_SYSCALLS: Final = {"x86_64": 298, "aarch64": 241}
"""Number of ``perf_event_open`` by machine."""
_ATTRIBUTE_BYTES: Final = 112
_HARDWARE, _INSTRUCTIONS = 0, 1
_USER_SPACE_ONLY: Final = 1 << 5 | 1 << 6
"""Without the kernel and the hypervisor; unprivileged processes may ask for no more."""


class Counter(Protocol):
    """Something that only grows, by what this thread does."""

    @property
    def unit(self) -> str:
        """Its name in the stored ratios."""
        ...

    def read(self) -> int:
        """The count so far."""
        ...


@dataclass(frozen=True, slots=True)
class InstructionCounter:
    """The instructions that this thread has executed, as the processor counts them."""

    descriptor: int
    unit: str = "instructions"

    @staticmethod
    def opened() -> "InstructionCounter | None":
        """A counter; ``None`` where the machine has none or the kernel does not allow it."""
        number = _SYSCALLS.get(platform.machine())
        if platform.system() != "Linux" or number is None:
            return None
        head = struct.pack(
            "IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _INSTRUCTIONS, 0, 0, 0, _USER_SPACE_ONLY
        )
        attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
        this_thread, any_cpu, no_group = 0, -1, -1
        descriptor = ctypes.CDLL(None).syscall(number, attribute, this_thread, any_cpu, no_group, 0)
        return None if descriptor < 0 else InstructionCounter(descriptor)

    def read(self) -> int:
        return int.from_bytes(os.read(self.descriptor, 8), "little")


@dataclass(frozen=True, slots=True)
class CpuCounter:
    """Nanoseconds of CPU time of this thread."""

    unit: str = "cpu"

    def read(self) -> int:
        return time.thread_time_ns()


def best_counter() -> Counter:
    """Instructions if they can be had."""
    return InstructionCounter.opened() or CpuCounter()


@roomy
def _as_in_a_turn(work: Callable[[], int]) -> int:
    return work()


def cost(counter: Counter, work: Callable[[], int]) -> float:
    """What ``work`` counts per record; it returns how many records it handled.

    Garbage of earlier work is collected before, and none during it: whose turn that is would be chance.
    """
    gc.collect()
    gc.disable()
    try:
        before = counter.read()
        records = _as_in_a_turn(work)
        after = counter.read()
    finally:
        gc.enable()
    if records <= 0:
        raise ValueError(f"the measured work handled {records} records, expected at least one")
    return (after - before) / records
