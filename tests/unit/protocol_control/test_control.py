from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.errors import Failure
from riverrun.core.lifecycle import TaskStatus
from riverrun.protocol.control import (
    Accumulators,
    Cancel,
    ClientRun,
    Credit,
    Down,
    FailureOrigin,
    Heartbeat,
    HeartbeatAck,
    MalformedMessage,
    Metrics,
    Register,
    Registered,
    Rejected,
    Start,
    StatusChanged,
    TaskEnded,
    TaskFailed,
    Up,
    WatermarkAllowed,
    WatermarkReported,
    decode_down,
    decode_up,
    encode,
)

FAILURE = Failure(
    "ValueError",
    "boöm",
    traceback="Traceback ...",
    operator="Map",
    task="Source -> Map",
    subtask=1,
    record="7",
    exception=pickle.dumps(ValueError("boöm")),
)
UP: list[Up] = [
    Register("ab" * 16, 2, "cd" * 16, "Map", 1, 0, 3, 4711, "host"),
    Heartbeat(),
    StatusChanged(TaskStatus.RUNNING),
    Metrics({"": {"busy": 0.5}, "Map": {"in": 3.0, "out": float("inf")}}),
    TaskFailed(FAILURE, FailureOrigin.USER),
    TaskFailed(Failure("X", ""), FailureOrigin.CONSEQUENCE),
    ClientRun("op", 0, b"\x00\xff" * 1000, 2000),
    Accumulators(b""),
    WatermarkReported(-5),
    WatermarkReported(None),
    TaskEnded(TaskStatus.FINISHED),
]
DOWN: list[Down] = [
    Registered(1000, 50_000, 4 << 20),
    Rejected("the job is CANCELLING"),
    Start(),
    Cancel("the job was cancelled"),
    Credit("op", 12),
    HeartbeatAck(),
    WatermarkAllowed(2**63 - 1),
]


@pytest.mark.parametrize("message", UP, ids=lambda m: type(m).__name__)
def test_what_a_task_says_arrives_unchanged(message: Up) -> None:
    assert decode_up(encode(message)) == message


@pytest.mark.parametrize("message", DOWN, ids=lambda m: type(m).__name__)
def test_what_the_job_master_says_arrives_unchanged(message: Down) -> None:
    assert decode_down(encode(message)) == message


def test_a_message_of_the_wrong_direction_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        decode_up(encode(Start()))
    with pytest.raises(MalformedMessage):
        decode_down(encode(Heartbeat()))


@given(junk=st.binary(max_size=300))
def test_bytes_that_are_no_message_are_refused(junk: bytes) -> None:
    with pytest.raises(MalformedMessage, match=f"got {len(junk)} bytes"):
        decode_up(junk)


@given(which=st.sampled_from(UP), cut=st.integers(min_value=1, max_value=30))
def test_a_truncated_message_is_refused(which: Up, cut: int) -> None:
    whole = encode(which)

    with pytest.raises(MalformedMessage):
        decode_up(whole[:-cut])


def test_deeply_nested_bytes_do_not_exhaust_the_stack() -> None:
    with pytest.raises(MalformedMessage):
        decode_up(b"\x82\xa1x" + b"\x91" * 100_000)
