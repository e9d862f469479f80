"""The error tree: whose fault it is, and what follows.

    RiverrunError
    ├── ProgramError      the program as written cannot run; found before anything runs
    │   ├── ConfigError   an option: unknown key, value of the wrong kind
    │   └── NotPicklable  a function that cannot travel to the workers
    ├── UserCodeError     the user's function raised while the job ran
    ├── ExternalError     something outside failed (a broker, a disk, Spark); trying again may help
    │   ├── TooFewSlots   the cluster is smaller than the job
    │   ├── WorkerLost    a process of the job disappeared
    │   └── CheckpointFailed  a checkpoint that was asked for
    ├── InternalError     riverrun broke its own law; never retried
    │   └── IllegalTransition
    ├── JobFailed         what ``execute`` raises when a job ends in FAILED
    └── JobCanceled       what waits for a job's result get when it was cancelled

Errors cross processes, so their arguments are their fields: pickle then works by itself.
"""

from __future__ import annotations

from dataclasses import dataclass


class RiverrunError(Exception):
    """Base of everything riverrun raises on purpose."""


class ProgramError(RiverrunError):
    """The program as written cannot run."""


class ConfigError(ProgramError):
    """An option has a key or value that is not understood."""


class NotPicklable(ProgramError):  # noqa: N818  (named after what it is, like KeyError's kin)
    """A function or value of the program cannot be sent to the workers."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(operator, reason)
        self.operator, self.reason = operator, reason

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: its function cannot be sent to the workers: {self.reason}; "
            f"create connections, locks and open files in open() instead of keeping them in the function"
        )


class UserCodeError(RiverrunError):
    """The user's own code raised while the job ran."""


class ExternalError(RiverrunError):
    """Something outside riverrun failed; trying again may help."""


class TooFewSlots(ExternalError):  # noqa: N818
    """The cluster has fewer task slots than the job has subtasks."""

    def __init__(self, needed: int, available: int, advice: str) -> None:
        super().__init__(needed, available, advice)
        self.needed, self.available, self.advice = needed, available, advice

    def __str__(self) -> str:
        return (
            f"the job needs {self.needed} task slots (all its subtasks run at once) "
            f"but the cluster has {self.available}; {self.advice}"
        )


class WorkerLost(ExternalError):  # noqa: N818
    """A process of the job went away without a word."""


class CheckpointFailed(ExternalError):  # noqa: N818
    """A checkpoint that was asked for did not come about."""


class InternalError(RiverrunError):
    """riverrun broke one of its own laws."""


class IllegalTransition(InternalError):  # noqa: N818
    """A state machine was asked for a move that its table does not have."""

    def __init__(self, machine: str, story: tuple[str, ...], to: str) -> None:
        super().__init__(machine, story, to)
        self.machine, self.story, self.to = machine, story, to

    def __str__(self) -> str:
        return f"{self.machine}: {' -> '.join(self.story)} -x-> {self.to}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task or job failed, as plain data that any process can show.

    ``traceback`` is the user's own (frames of riverrun and Spark are left out) when the failure came
    from the user's code. ``exception`` is the pickled exception, when it could be pickled.
    """

    type_name: str
    message: str
    traceback: str = ""
    operator: str | None = None
    task: str | None = None
    subtask: int | None = None
    record: str | None = None
    exception: bytes | None = None
    hint: str | None = None
    retryable: bool = True
    """Whether starting again may help; not for what the program or riverrun itself does wrong."""

    def headline(self) -> str:
        """One line: where it happened and what it was.

        >>> Failure("ValueError", "boom", operator="Map", subtask=1, record="7").headline()
        "operator 'Map', subtask 1, at record 7: ValueError: boom"
        """
        where = []
        if self.operator is not None:
            where.append(f"operator {self.operator!r}")
        elif self.task is not None:
            where.append(f"task {self.task!r}")
        if self.subtask is not None:
            where.append(f"subtask {self.subtask}")
        if self.record is not None:
            where.append(f"at record {self.record}")
        what = f"{self.type_name}: {self.message}" if self.message else self.type_name
        return f"{', '.join(where)}: {what}" if where else what


class JobFailed(RiverrunError):  # noqa: N818
    """A job ended in FAILED; the message holds the user's own traceback."""

    def __init__(self, job_name: str, job_id: str, failure: Failure) -> None:
        super().__init__(job_name, job_id, failure)
        self.job_name, self.job_id, self.failure = job_name, job_id, failure

    def __str__(self) -> str:
        lines = [f"job {self.job_name!r} ({self.job_id}) failed: {self.failure.headline()}"]
        if self.failure.traceback:
            lines += ["", self.failure.traceback.rstrip()]
        if self.failure.hint:
            lines += ["", f"hint: {self.failure.hint}"]
        return "\n".join(lines)


class JobCanceled(RiverrunError):  # noqa: N818
    """The job was cancelled before it had a result."""

    def __init__(self, job_name: str, job_id: str) -> None:
        super().__init__(job_name, job_id)
        self.job_name, self.job_id = job_name, job_id

    def __str__(self) -> str:
        return f"job {self.job_name!r} ({self.job_id}) was cancelled"
