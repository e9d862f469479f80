"""Answers questions about this process, each on a thread of its own, a few at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, assert_never

from riverrun.core.errors import RiverrunError
from riverrun.core.log_folder import LogFolder, UnknownLogFile
from riverrun.core.thread_dump import thread_stacks
from riverrun.protocol.inquiries import (
    PIECE_BYTES,
    Answer,
    DumpThreads,
    Inquiry,
    InquiryAnswer,
    ListLogs,
    LogList,
    Question,
    ReadLog,
    Sample,
    Threads,
)
from riverrun.spark.worker.profiler import sample

log = logging.getLogger(__name__)

_AT_A_TIME: Final = 4


class InquiryDesk:
    """Takes questions on the control connection's thread and answers them elsewhere.

    Args:
        task: the name of the task, which is what the process's main thread does.
        logs: the log files, if there are any.
    """

    def __init__(self, task: str, logs: LogFolder | None) -> None:
        self._task = task
        self._logs = logs
        self._free = threading.Semaphore(_AT_A_TIME)

    def take(self, inquiry: Inquiry, send: Callable[[InquiryAnswer], None]) -> None:
        """Answer later; at once, with a refusal, when too much is asked. Does not block for long."""
        if not self._free.acquire(blocking=False):
            busy = f"{_AT_A_TIME} questions are being answered already; ask again later"
            threading.Thread(
                target=_sent,
                args=(send, InquiryAnswer(inquiry.number, error=busy)),
                name="riverrun-inquiry",
                daemon=True,
            ).start()
            return
        threading.Thread(
            target=self._answer, args=(inquiry, send), name="riverrun-inquiry", daemon=True
        ).start()

    def _answer(self, inquiry: Inquiry, send: Callable[[InquiryAnswer], None]) -> None:
        try:
            message = InquiryAnswer(inquiry.number, self._found(inquiry.question))
        except UnknownLogFile as e:
            message = InquiryAnswer(inquiry.number, error=str(e))
        except Exception as e:  # noqa: BLE001  (whoever asked is told; the task goes on)
            message = InquiryAnswer(inquiry.number, error=f"{type(e).__name__}: {e}")
        finally:
            self._free.release()
        _sent(send, message)

    def _found(self, question: Question) -> Answer:
        match question:
            case DumpThreads():
                return Threads(thread_stacks({threading.main_thread().ident or 0: self._task}))
            case Sample():
                return sample(question)
            case ListLogs():
                return LogList([] if self._logs is None else self._logs.files())
            case ReadLog(name, start, limit):
                if self._logs is None:
                    raise UnknownLogFile(f"log file {name!r}: this task writes none")
                return self._logs.read(name, start, min(limit, PIECE_BYTES))
            case _:
                assert_never(question)


def _sent(send: Callable[[InquiryAnswer], None], message: InquiryAnswer) -> None:
    try:
        send(message)
    except RiverrunError as e:
        log.debug(
            "answer not sent reason=%s", e
        )  # the JobMaster is gone, which the task notices itself
