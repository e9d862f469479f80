"""Peers that are not what they should be, on either end."""

from __future__ import annotations

import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from riverrun.cluster.control_server import ControlServer, ServerSettings
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.auth import (
    AuthRefused,
    Challenge,
    JobMasterHandshake,
    Proof,
    TaskHandshake,
    new_nonce,
    new_secret,
)
from riverrun.protocol.control import Heartbeat, Register, Registered, encode
from riverrun.protocol.wire import Address, FrameDecoder, frame
from riverrun.spark.worker.control_client import ControlClient, JobMasterGone

PATIENCE = 30.0
JOB = "ab" * 16
ME = Register(JOB, 0, "", "Map", 0, 0, 0, 1, "here")


def read_to_end(sock: socket.socket) -> bytes:
    said = b""
    try:
        while data := sock.recv(4096):
            said += data
    except ConnectionResetError:
        pass
    return said


def stranger(server: ControlServer) -> socket.socket:
    return socket.create_connection(server.address, PATIENCE)


def test_a_task_with_the_wrong_secret_is_dropped_and_the_job_goes_on(
    make_job: Callable[..., Any],
) -> None:
    job = make_job()
    job.master.start()
    address = job.engine.access.address

    with pytest.raises(JobMasterGone, match="does the secret belong to this job"):
        ControlClient.connect(address, new_secret(), job.register(0))

    assert job.master.status() is JobStatus.CREATED


def test_a_job_that_is_not_there_is_answered_like_a_wrong_secret(server: ControlServer) -> None:
    with pytest.raises(JobMasterGone, match="does the secret belong to this job"):
        ControlClient.connect(server.address, new_secret(), ME)


@pytest.mark.parametrize(
    "junk",
    [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, frame(b"junk"), frame(b""), os.urandom(100_000)],
    ids=["http", "huge length", "junk", "empty", "flood"],
)
def test_garbage_is_dropped_without_a_word(server: ControlServer, junk: bytes) -> None:
    with stranger(server) as sock:
        sock.sendall(junk)
        assert read_to_end(sock) == b""


def test_a_stranger_who_says_nothing_is_dropped() -> None:
    server = ControlServer(ServerSettings(handshake_timeout_ms=50))
    server.start()

    with stranger(server) as sock:
        assert read_to_end(sock) == b""

    server.close()


def test_a_stranger_who_trickles_bytes_is_dropped_in_time() -> None:
    server = ControlServer(ServerSettings(handshake_timeout_ms=50))
    server.start()

    with stranger(server) as sock:
        sock.sendall(frame(TaskHandshake(JOB, new_secret()).hello())[:-1])
        assert read_to_end(sock) == b""

    server.close()


def test_something_else_than_register_is_dropped(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.master.start()
    access = job.engine.access
    task = TaskHandshake(str(job.master.job_id), access.secret)
    decoder = FrameDecoder()

    with socket.create_connection(access.address, PATIENCE) as sock:
        sock.sendall(frame(task.hello()))
        while not task.done:
            answer = task.receive(receive(sock, decoder))
            if answer is not None:
                sock.sendall(frame(answer))
        sock.sendall(frame(encode(Heartbeat())))
        assert read_to_end(sock) == b""

    assert job.master.status() is JobStatus.CREATED


def test_garbage_from_a_registered_task_fails_the_job(make_job: Callable[..., Any]) -> None:
    job = make_job()
    job.master.start()
    tasks = job.connect_all()

    tasks[0].client._socket.sendall(frame(b"\x00junk"))

    assert job.master.wait(PATIENCE) is JobStatus.FAILED
    assert job.master.failure().type_name == "WorkerLost"
    for task in tasks:
        task.client.close()


def test_a_server_that_closes_lets_its_tasks_know(make_job: Callable[..., Any]) -> None:
    job = make_job(1)
    job.master.start()
    tasks = job.connect_all()

    job.master._resources.server.close()

    for task in tasks:
        assert task.lost.get(timeout=PATIENCE)
        task.client.close()


def receive(sock: socket.socket, decoder: FrameDecoder) -> bytes:
    while (payload := decoder.next_payload()) is None:
        decoder.feed(sock.recv(4096))
    return payload


@contextmanager
def played_master(secret: bytes, terms: Registered) -> Iterator[Address]:
    """A JobMaster that registers one task and then does only what the test does with its socket."""
    accepted: list[socket.socket] = []

    def serve() -> None:
        sock, _ = listener.accept()
        accepted.append(sock)
        decoder, handshake = FrameDecoder(), JobMasterHandshake({JOB: secret}.get)
        while not handshake.done:
            sock.sendall(frame(handshake.receive(receive(sock, decoder))))
        receive(sock, decoder)
        sock.sendall(frame(encode(terms)))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            thread.join(PATIENCE)
            for sock in accepted:
                sock.close()


def test_a_job_master_that_falls_silent_is_lost() -> None:
    secret = new_secret()
    with played_master(secret, Registered(10, 100, 1000)) as address:
        client = ControlClient.connect(address, secret, ME)
        lost: queue.Queue[str] = queue.Queue()

        client.start(lambda _: None, lost.put)

        assert lost.get(timeout=PATIENCE).startswith("the JobMaster was silent for")
        client.close()


def test_a_silent_job_master_is_noticed_even_while_the_task_is_stuck_in_a_send() -> None:
    secret = new_secret()
    with played_master(secret, Registered(10, 200, 1 << 30)) as address:
        client = ControlClient.connect(address, secret, ME)
        lost = threading.Event()
        client.start(lambda _: None, lambda _: lost.set())

        with pytest.raises(JobMasterGone):
            client.send_run("op", b"x" * (64 << 20), 1)

        assert lost.wait(PATIENCE)
        client.close()


def test_a_job_master_that_cannot_prove_itself_is_refused_by_the_task() -> None:
    def pretend() -> None:
        with listener.accept()[0] as sock:
            decoder = FrameDecoder()
            receive(sock, decoder)
            sock.sendall(frame(msgspec.msgpack.encode(Challenge(new_nonce()))))
            receive(sock, decoder)
            sock.sendall(frame(msgspec.msgpack.encode(Proof(os.urandom(32)))))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(AuthRefused, match="the JobMaster does not know the job's secret"):
            ControlClient.connect(listener.getsockname(), new_secret(), ME)
        thread.join(PATIENCE)


def test_connecting_to_nobody_says_where() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()

    with pytest.raises(JobMasterGone, match="no JobMaster at"):
        ControlClient.connect(address, new_secret(), ME, timeout_ms=1000)


def test_connecting_to_somebody_who_never_answers_ends_in_time() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(JobMasterGone, match=r"timed out|no answer in time"),
    ):
        ControlClient.connect(listener.getsockname(), new_secret(), ME, timeout_ms=50)


def test_a_server_that_never_started_closes_too() -> None:
    server = ControlServer()

    server.close()
    server.close()
