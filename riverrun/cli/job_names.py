"""Which job a word means: an id, the beginning of one, or a name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

from riverrun.core.errors import ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.rest.bodies.jobs import JobDetails

_SHOWN: Final = 10


class NoSuchJob(ProgramError):  # noqa: N818
    """The word means no job, or several."""


def job_named(word: str, jobs: Sequence[JobDetails]) -> JobDetails:
    """The job that ``word`` means.

    A name means the job that runs under it, also if others that ended had it before.

    Raises:
        NoSuchJob: no job is meant, or several are.
    """
    by_name = [job for job in jobs if job.name == word]
    choices = (
        [job for job in jobs if job.jid == word],
        [job for job in by_name if not has_ended(job)],
        by_name,
        [job for job in jobs if job.jid.startswith(word.lower())] if word else [],
    )
    found = next((each for each in choices if each), [])
    if len(found) == 1:
        return found[0]
    if found:
        raise NoSuchJob(
            f"job {word!r}: {len(found)} jobs are meant; give more of the id:{_listed(found)}"
        )
    raise NoSuchJob(
        f"job {word!r}: there is no such id, beginning of an id or name{_hint(word, jobs)}"
    )


def has_ended(job: JobDetails) -> bool:
    """Whether the job is over for good."""
    return JobStatus(job.state).is_globally_terminal_state()


def _hint(word: str, jobs: Sequence[JobDetails]) -> str:
    if not jobs:
        return "; the JobManager has no jobs"
    names = {job.name: job for job in jobs} | {job.jid: job for job in jobs}
    near = difflib.get_close_matches(word, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return "; river list -a shows all jobs"


def _listed(jobs: Sequence[JobDetails]) -> str:
    lines = [f"\n  {job.jid}  {job.name} ({job.state})" for job in jobs[:_SHOWN]]
    more = len(jobs) - _SHOWN
    return "".join(lines) + (f"\n  and {more} more" if more > 0 else "")
