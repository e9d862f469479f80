"""When the task of an enumerator may end: not while a checkpoint is under way that still counts on it."""

from __future__ import annotations

from riverrun.core.clock import ManualClock
from riverrun.runtime.enumerator import EnumeratorHost
from riverrun.runtime.split_messages import ReaderThere, SplitsWanted
from tests.unit.testing.discovering_sources import QueuedNumbers


def host_of_two_readers() -> EnumeratorHost:
    source = QueuedNumbers(splits=0, size=1)
    host = EnumeratorHost(
        source, 2, ManualClock(), aside=lambda call: call(), wake=lambda: None, saved=None
    )
    host.start()
    for subtask in range(2):
        host.hear(subtask, ReaderThere())
    host.hear(0, SplitsWanted())
    return host


def test_a_task_stays_until_it_took_part_in_a_checkpoint_that_not_all_readers_were_told_before() -> (
    None
):
    host = host_of_two_readers()
    host.prepare(1)
    host.hear(1, SplitsWanted())

    assert host.is_done
    assert not host.may_end
    host.cut(1)
    assert host.may_end
    assert host.saved()[0].told == {0}


def test_a_checkpoint_that_comes_to_nothing_holds_no_task_back() -> None:
    host = host_of_two_readers()
    host.prepare(1)
    host.hear(1, SplitsWanted())
    host.checkpoint_aborted(1)

    assert host.may_end


def test_a_checkpoint_that_begins_after_all_were_told_holds_no_task_back() -> None:
    host = host_of_two_readers()
    assert not host.may_end
    host.hear(1, SplitsWanted())
    host.prepare(1)

    assert host.may_end
