"""Jobs that a script sends to a JobManager are announced to who ran it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from riverrun.datastream.program import Program
from riverrun.graph.executor import RunningJob


@contextmanager
def announced(tell: Callable[[RunningJob], None]) -> Iterator[None]:
    """In this block, ``tell`` gets every job that was accepted."""
    run = Program.submit

    def submit(program: Program, job_name: str | None) -> RunningJob:
        job = run(program, job_name)
        tell(job)
        return job

    setattr(Program, "submit", submit)  # noqa: B010  (a type checker refuses the plain assignment)
    try:
        yield
    finally:
        setattr(Program, "submit", run)  # noqa: B010
