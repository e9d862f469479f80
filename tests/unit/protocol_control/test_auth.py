from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.auth import (
    AuthRefused,
    Challenge,
    Hello,
    JobMasterHandshake,
    Proof,
    TaskHandshake,
    new_nonce,
    new_secret,
)

JOB = "ab" * 16


def shake(task: TaskHandshake, master: JobMasterHandshake) -> list[bytes]:
    """Run the whole handshake; everything that was said, in order."""
    said = [task.hello()]
    while True:
        said.append(master.receive(said[-1]))
        answer = task.receive(said[-1])
        if answer is None:
            return said
        said.append(answer)


def test_both_ends_that_know_the_secret_accept_each_other() -> None:
    secret = new_secret()
    task, master = TaskHandshake(JOB, secret), JobMasterHandshake({JOB: secret}.get)

    shake(task, master)

    assert task.done
    assert master.done
    assert master.job == JOB


def test_the_secret_is_never_said() -> None:
    secret = new_secret()

    said = shake(TaskHandshake(JOB, secret), JobMasterHandshake({JOB: secret}.get))

    assert not any(secret in payload for payload in said)


def test_a_task_with_another_secret_is_refused_and_is_told_no_proof() -> None:
    task, master = TaskHandshake(JOB, new_secret()), JobMasterHandshake({JOB: new_secret()}.get)
    proof = task.receive(master.receive(task.hello()))
    assert proof is not None

    with pytest.raises(AuthRefused, match="does not know the job's secret"):
        master.receive(proof)

    assert not master.done


def test_an_unknown_job_is_answered_like_a_known_one() -> None:
    task, master = TaskHandshake(JOB, new_secret()), JobMasterHandshake(lambda _: None)
    challenge = master.receive(task.hello())

    assert msgspec.msgpack.decode(challenge, type=Challenge)
    proof = task.receive(challenge)
    assert proof is not None
    with pytest.raises(AuthRefused, match="does not know the job's secret"):
        master.receive(proof)


def test_a_job_master_with_another_secret_is_refused() -> None:
    secret = new_secret()
    task = TaskHandshake(JOB, secret)
    task.receive(msgspec.msgpack.encode(Challenge(new_nonce())))

    with pytest.raises(AuthRefused, match="the JobMaster does not know"):
        task.receive(msgspec.msgpack.encode(Proof(b"\0" * 32)))

    assert not task.done


def test_a_tasks_own_proof_sent_back_is_refused() -> None:
    secret = new_secret()
    task = TaskHandshake(JOB, secret)
    proof = task.receive(msgspec.msgpack.encode(Challenge(new_nonce())))
    assert proof is not None

    with pytest.raises(AuthRefused):
        task.receive(proof)


def test_an_overheard_exchange_is_worth_nothing_the_next_time() -> None:
    secret = new_secret()
    said = shake(TaskHandshake(JOB, secret), JobMasterHandshake({JOB: secret}.get))
    master = JobMasterHandshake({JOB: secret}.get)
    master.receive(said[0])

    with pytest.raises(AuthRefused):
        master.receive(said[2])


def test_a_refused_handshake_stays_refused() -> None:
    secret = new_secret()
    task, master = TaskHandshake(JOB, secret), JobMasterHandshake({JOB: secret}.get)
    proof = task.receive(master.receive(task.hello()))
    assert proof is not None
    with pytest.raises(AuthRefused):
        master.receive(b"junk")

    with pytest.raises(AuthRefused, match="after the handshake's end"):
        master.receive(proof)


def test_another_protocol_version_is_refused_with_advice() -> None:
    master = JobMasterHandshake(lambda _: None)

    with pytest.raises(AuthRefused, match="use the same riverrun release"):
        master.receive(msgspec.msgpack.encode(Hello(99, JOB, new_nonce())))


def test_a_short_nonce_is_refused() -> None:
    master = JobMasterHandshake(lambda _: None)

    with pytest.raises(AuthRefused, match="a nonce of 3 bytes, expected 32"):
        master.receive(msgspec.msgpack.encode(Hello(1, JOB, b"abc")))


@given(junk=st.binary(max_size=200))
def test_any_bytes_are_refused_and_nothing_else_happens(junk: bytes) -> None:
    with pytest.raises(AuthRefused):
        JobMasterHandshake(lambda _: None).receive(junk)
    with pytest.raises(AuthRefused):
        TaskHandshake(JOB, b"s" * 32).receive(junk)
