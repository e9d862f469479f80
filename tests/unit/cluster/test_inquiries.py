from __future__ import annotations

import pytest

from riverrun.cluster.inquiries import Inquiries, TaskGone, TaskRefused
from riverrun.protocol.control import Down
from riverrun.protocol.inquiries import DumpThreads, Inquiry, InquiryAnswer, Threads


class Link:
    last_heard = 0.0

    def __init__(self) -> None:
        self.sent: list[Down] = []

    def send(self, message: Down) -> None:
        self.sent.append(message)

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def test_each_question_gets_its_own_answer() -> None:
    inquiries, link = Inquiries(), Link()
    first = inquiries.ask(link, DumpThreads())
    second = inquiries.ask(link, DumpThreads())
    numbers = [message.number for message in link.sent if isinstance(message, Inquiry)]

    inquiries.answered(link, InquiryAnswer(numbers[1], Threads([])))

    assert second.result(0) == Threads([])
    assert not first.done()


def test_a_task_can_only_answer_what_it_was_asked() -> None:
    inquiries, link = Inquiries(), Link()
    outcome = inquiries.ask(link, DumpThreads())

    inquiries.answered(Link(), InquiryAnswer(1, Threads([])))
    inquiries.answered(link, InquiryAnswer(99, Threads([])))

    assert not outcome.done()


def test_a_task_that_has_no_answer_says_why() -> None:
    inquiries, link = Inquiries(), Link()
    outcome = inquiries.ask(link, DumpThreads())

    inquiries.answered(link, InquiryAnswer(1, error="busy"))

    with pytest.raises(TaskRefused, match="busy"):
        outcome.result(0)


def test_questions_end_with_the_connection() -> None:
    inquiries, link, other = Inquiries(), Link(), Link()
    outcome, stays = inquiries.ask(link, DumpThreads()), inquiries.ask(other, DumpThreads())

    inquiries.lost(link, "the task closed the connection")

    with pytest.raises(TaskGone, match="closed"):
        outcome.result(0)
    assert not stays.done()


def test_an_answer_that_nobody_waits_for_any_more_is_dropped() -> None:
    inquiries, link = Inquiries(), Link()
    outcome = inquiries.ask(link, DumpThreads())
    outcome.cancel()

    inquiries.answered(link, InquiryAnswer(1, Threads([])))

    assert outcome.cancelled()
