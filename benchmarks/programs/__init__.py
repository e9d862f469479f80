"""The workloads on riverrun by name; Nexmark's queries have programs of their own."""

from collections.abc import Mapping
from typing import Final

from benchmarks.programs.chain import CHAIN_PROGRAM
from benchmarks.programs.join import JOIN_PROGRAM
from benchmarks.programs.large import LARGE_PROGRAM
from benchmarks.programs.program import Program
from benchmarks.programs.sessions import SESSIONS_PROGRAM
from benchmarks.programs.transactions import (
    KEYED_PROGRAM,
    SKEWED_PROGRAM,
    STATE_PROGRAM,
    STATELESS_PROGRAM,
)
from benchmarks.programs.windows import COLUMNS_PROGRAM, SLIDING_PROGRAM, WINDOWS_PROGRAM
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
)

__all__ = ["PROGRAMS", "Program"]

PROGRAMS: Final[Mapping[str, Program]] = {
    STATELESS: STATELESS_PROGRAM,
    KEYED: KEYED_PROGRAM,
    STATE: STATE_PROGRAM,
    SKEWED: SKEWED_PROGRAM,
    WINDOWS: WINDOWS_PROGRAM,
    SLIDING: SLIDING_PROGRAM,
    SESSIONS: SESSIONS_PROGRAM,
    JOIN: JOIN_PROGRAM,
    COLUMNS: COLUMNS_PROGRAM,
    LARGE_RECORDS: LARGE_PROGRAM,
    CHAIN: CHAIN_PROGRAM,
    **dict.fromkeys(SUBTASKS, STATE_PROGRAM),
}
