"""Questions to tasks that run: each gets one answer, or an end."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future

from riverrun.cluster.links import TaskLink
from riverrun.core.errors import ExternalError
from riverrun.protocol.inquiries import Answer, Inquiry, InquiryAnswer, Question


class TaskGone(ExternalError):  # noqa: N818
    """There is no such task to ask, or it ended before it answered."""


class TaskRefused(ExternalError):  # noqa: N818
    """The task has no answer, and says why."""


class Inquiries:
    """The questions that are under way; methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[TaskLink, Future[Answer]]] = {}

    def ask(self, link: TaskLink, question: Question) -> Future[Answer]:
        """Ask the task at the other end; TaskRefused, TaskGone in the future."""
        outcome: Future[Answer] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = (link, outcome)
        link.send(Inquiry(number, question))
        return outcome

    def answered(self, link: TaskLink, message: InquiryAnswer) -> None:
        """The task answered; an answer that nobody waits for is dropped."""
        with self._lock:
            asked, outcome = self._waiting.get(message.number, (None, None))
            if asked is not link or outcome is None:
                return
            del self._waiting[message.number]
        if not outcome.set_running_or_notify_cancel():
            return
        if message.answer is None:
            outcome.set_exception(TaskRefused(message.error or "the task has no answer"))
        else:
            outcome.set_result(message.answer)

    def lost(self, link: TaskLink, reason: str) -> None:
        """The task will not answer any more."""
        with self._lock:
            numbers = [number for number, (asked, _) in self._waiting.items() if asked is link]
            outcomes = [self._waiting.pop(number)[1] for number in numbers]
        for outcome in outcomes:
            if outcome.set_running_or_notify_cancel():
                outcome.set_exception(TaskGone(f"the task did not answer: {reason}"))
