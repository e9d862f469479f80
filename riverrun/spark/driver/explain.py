"""What Spark says about a job that ended, in words: without Java's class names and stacks."""

from __future__ import annotations

import re
from typing import Final

_STACK: Final = re.compile(r"^(\s+at [\w.$/<>]+\(|Driver stacktrace:|Caused by:)")
_LOST_TASK: Final = re.compile(
    r"most recent failure: Lost task \S+ in stage \S+ \(TID \d+\) "
    r"\((?P<host>\S+) executor (?P<executor>\S+?)\): (?P<reason>.*)",
    re.DOTALL,
)
_LOST_EXECUTOR: Final = re.compile(
    r"ExecutorLostFailure \(executor (?P<executor>\S+) (?P<how>[^)]*)\)"
    r"(?: Reason: (?P<reason>.*))?"
)
# What the transport between executors says when the other side is gone: netty's words and Java's.
_CUT: Final = re.compile(
    r"(?:\w+\(\.\.\) failed(?: with error\(-\d+\))?: )?"
    r"(?P<reason>Connection reset by peer|Connection reset|Broken pipe|Connection from \S+ closed"
    r"|Failed to connect to \S+)"
)
_CLASS: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
_ADVICE: Final = re.compile(r"\.? Consider setting .*")
_TRACEBACK: Final = "Traceback (most recent call last):"


def explain(message: str) -> str:
    r"""The part of Spark's message that says what happened, as one line.

    >>> explain(
    ...     "Job aborted due to stage failure: Task 1 in stage 5.0 failed 1 times, most recent failure: "
    ...     "Lost task 1.0 in stage 5.0 (TID 10) (node7 executor 2): org.apache.spark.SparkException: "
    ...     "Python worker exited unexpectedly (crashed). Consider setting 'x' to 'true'.\n"
    ...     "\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:1)"
    ... )
    'on node7: Python worker exited unexpectedly (crashed)'
    """
    text = _without_stack(message)
    lost = _LOST_TASK.search(text)
    if lost is None:
        return _one_line(text)
    executor = _LOST_EXECUTOR.search(lost["reason"])
    if executor is not None:
        reason = _one_line(executor["reason"] or executor["how"])
        return f"executor {executor['executor']} on {lost['host']} was lost: {reason}"
    reason = _one_line(lost["reason"])
    cut = _CUT.match(reason)
    if cut is not None:
        return f"the connection from {lost['host']} to another executor was lost: {cut['reason']}"
    return f"on {lost['host']}: {reason}"


def _without_stack(message: str) -> str:
    return "\n".join(line for line in message.splitlines() if not _STACK.match(line))


def _one_line(text: str) -> str:
    """The first line that speaks; of a Python traceback the last one, which names the exception."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "nothing was said"
    if _TRACEBACK in text:
        start = next(i for i, line in enumerate(lines) if _TRACEBACK in line)
        spoken = [line for line in lines[start + 1 :] if not line.startswith((" ", "\t"))]
        lines = spoken or lines
    return _ADVICE.sub("", _CLASS.sub("", lines[0].strip()))
