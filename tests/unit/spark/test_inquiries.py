"""What a worker says about itself: its threads, where its time goes, its log files."""

from __future__ import annotations

import io
import logging
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverrun.core.log_folder import LogFolder, LogPiece
from riverrun.core.log_output import LogSettings
from riverrun.core.rotating_file import RotatingFile
from riverrun.protocol.control import decode_down, decode_up, encode
from riverrun.protocol.inquiries import (
    DumpThreads,
    Inquiry,
    InquiryAnswer,
    ListLogs,
    LogList,
    Question,
    ReadLog,
    Sample,
    StackCounts,
    Threads,
)
from riverrun.spark.worker.inquiries import InquiryDesk
from riverrun.spark.worker.logs import PrintedLines, write_logs
from riverrun.spark.worker.profiler import sample


@pytest.fixture
def busy() -> Iterator[None]:
    """A thread in a function that has a name, which never waits."""
    ended = threading.Event()

    def counts_sheep() -> None:
        while not ended.is_set():
            pass

    thread = threading.Thread(target=counts_sheep, name="user")
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def waiting() -> Iterator[None]:
    ended = threading.Event()

    def waits_for_godot() -> None:
        ended.wait()

    thread = threading.Thread(target=waits_for_godot, name="user")
    thread.start()
    yield
    ended.set()
    thread.join()


def answered(desk: InquiryDesk, question: Question) -> InquiryAnswer:
    answers: queue.SimpleQueue[InquiryAnswer] = queue.SimpleQueue()
    desk.take(Inquiry(7, question), answers.put)
    answer = decode_up(encode(answers.get(timeout=30)))
    assert isinstance(answer, InquiryAnswer)
    assert answer.number == 7
    return answer


def test_questions_and_answers_cross_the_wire() -> None:
    for question in (DumpThreads(), Sample(1, 2, 3), ListLogs(), ReadLog("a.log", -5)):
        assert decode_down(encode(Inquiry(1, question))) == Inquiry(1, question)


def test_a_thread_dump_names_the_task_whose_thread_is_the_main_one() -> None:
    answer = answered(InquiryDesk("map (1/2)#0", None), DumpThreads()).answer

    assert isinstance(answer, Threads)
    (main,) = [each for each in answer.threads if each.name == "map (1/2)#0"]
    assert "test_a_thread_dump_names_the_task" in main.text


@pytest.mark.usefixtures("busy")
def test_work_is_seen_on_the_cpu() -> None:
    counts = sample(Sample(20, 1, 50))

    assert any("counts_sheep" in stack for stack in counts.on_cpu)
    (stack, *_) = (stack for stack in counts.on_cpu if "counts_sheep" in stack)
    assert stack.splitlines()[0].startswith("threading.Thread._bootstrap:")


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not say")
@pytest.mark.usefixtures("waiting")
def test_waiting_is_seen_off_the_cpu() -> None:
    answer = answered(InquiryDesk("task", None), Sample(5, 1, 50)).answer

    assert isinstance(answer, StackCounts)
    assert any("waits_for_godot" in stack for stack in answer.off_cpu)


def test_the_threads_of_riverrun_itself_are_left_out() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, name="riverrun-control")
    thread.start()
    counts = sample(Sample(3, 1, 2))
    ended.set()
    thread.join()

    stacks = [*counts.on_cpu, *counts.off_cpu]
    assert all(len(stack.splitlines()) <= 2 for stack in stacks)
    assert sum(counts.on_cpu.values()) + sum(counts.off_cpu.values()) >= 3


def test_log_files_are_listed_and_read_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "taskmanager-3.log").write_text("0123456789")
    (tmp_path / "taskmanager-4.log").write_text("another's")
    desk = InquiryDesk("task", LogFolder(tmp_path, "taskmanager-3."))

    listed = answered(desk, ListLogs()).answer
    piece = answered(desk, ReadLog("taskmanager-3.log", -4, 2)).answer

    assert isinstance(listed, LogList)
    assert [file.name for file in listed.files] == ["taskmanager-3.log"]
    assert piece == LogPiece(b"67", 6, 10)
    refused = answered(desk, ReadLog("taskmanager-4.log", 0))
    assert refused.answer is None
    assert refused.error is not None
    assert "taskmanager-3.log" in refused.error


def test_too_many_questions_at_once_are_refused() -> None:
    desk = InquiryDesk("task", None)
    begun: queue.SimpleQueue[InquiryAnswer] = queue.SimpleQueue()
    for number in range(4):
        desk.take(Inquiry(number, Sample(200, 5, 1)), begun.put)

    refused = answered(desk, ListLogs())

    assert refused.error is not None
    assert "ask again" in refused.error
    assert {begun.get(timeout=30).number for _ in range(4)} == {0, 1, 2, 3}


def test_a_worker_writes_what_it_logs_and_what_functions_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    folder = write_logs(LogSettings.at(tmp_path / "logs", {}), "3", "[map (1/2)#0]")
    assert folder is not None

    logging.getLogger("my.function").info("hello password=abc")
    print("one", "line")  # noqa: T201
    print("half", end="")  # noqa: T201

    log = folder.read("taskmanager-3.log", 0, 10_000).data.decode()
    out = folder.read("taskmanager-3.out", 0, 10_000).data.decode()
    assert "my.function [map (1/2)#0] hello password=******\n" in log
    assert out == "one line\n"
    assert write_logs(None, "3", "") is None
    assert isinstance(sys.stdout, io.StringIO)
    print("not to the file")  # noqa: T201
    assert folder.read("taskmanager-3.out", 0, 10_000).data.decode() == out


def test_a_folder_that_cannot_be_written_does_not_end_a_task(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert write_logs(LogSettings.at(tmp_path / "file" / "logs", {}), "9", "") is None


def test_no_logs_are_written_unless_somebody_wants_them() -> None:
    assert write_logs(LogSettings.of({}), "3", "") is None


def test_printed_lines_are_shown_too(tmp_path: Path) -> None:
    console = io.StringIO()
    printed = PrintedLines(console, RotatingFile(tmp_path / "x.out", 1000, 1))

    assert printed.write("a\nb") == 3

    assert console.getvalue() == "a\nb"
    assert (tmp_path / "x.out").read_text() == "a\n"
