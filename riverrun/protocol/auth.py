"""Both ends of a control connection prove that they know the job's secret, without sending it.

    task       -> JobMaster   Hello(version, job, nonce)
    JobMaster  -> task        Challenge(nonce)
    task       -> JobMaster   Proof: HMAC-SHA256(secret, "task" + everything above)
    JobMaster  -> task        Proof: HMAC-SHA256(secret, "job master" + everything above)

The task proves first, so a stranger gets nothing that was computed with the secret. A job that does
not exist is answered like one that does, so a stranger does not learn the jobs either. Each end
contributes a nonce, so an overheard exchange is worth nothing later, and the two proofs carry
different labels, so one end's proof cannot be sent back to it.

This keeps out those who do not know the secret. It does not hide or sign what is said afterwards: a
network on which others may rewrite packets needs encryption below (Spark's own streams need it too).

Two objects without I/O: each takes the payload that arrived and returns the payload to send.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, TypeVar

import msgspec

from riverrun.core.errors import ExternalError

SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 32
VERSION: Final = 1
MAX_HANDSHAKE_BYTES: Final = 1024
"""What a peer may send in all before it has proved itself."""


class AuthRefused(ExternalError):  # noqa: N818
    """The other end of a connection did not prove that it belongs to the job."""


class Hello(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Opens the handshake; ``job`` says which secret is meant."""

    version: int
    job: str
    nonce: bytes


class Challenge(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Asks for a proof over both nonces."""

    nonce: bytes


class Proof(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Shows that the sender knows the secret."""

    mac: bytes


class _Side(Enum):
    TASK = b"riverrun task"
    JOB_MASTER = b"riverrun job master"


class _Step(Enum):
    FIRST = auto()
    SECOND = auto()
    DONE = auto()
    REFUSED = auto()


_T = TypeVar("_T", Hello, Challenge, Proof)


def new_secret() -> bytes:
    """A fresh secret for one job."""
    return secrets.token_bytes(SECRET_BYTES)


def new_nonce() -> bytes:
    """Bytes that were never used before."""
    return secrets.token_bytes(NONCE_BYTES)


class TaskHandshake:
    """The task's end of the handshake.

    >>> secret = new_secret()
    >>> task = TaskHandshake("ab12", secret)
    >>> master = JobMasterHandshake({"ab12": secret}.get)
    >>> proof = task.receive(master.receive(task.hello()))
    >>> task.receive(master.receive(proof))
    >>> task.done, master.done, master.job
    (True, True, 'ab12')
    """

    def __init__(self, job: str, secret: bytes, nonce: bytes | None = None) -> None:
        self._hello = Hello(VERSION, job, nonce or new_nonce())
        self._secret = secret
        self._challenge: Challenge | None = None
        self._step = _Step.FIRST

    @property
    def done(self) -> bool:
        """Whether the JobMaster proved itself; only then may anything else be said."""
        return self._step is _Step.DONE

    def hello(self) -> bytes:
        """The first payload to send."""
        return msgspec.msgpack.encode(self._hello)

    def receive(self, payload: bytes) -> bytes | None:
        """Take the JobMaster's answer; what to send next, ``None`` when the handshake is done.

        Raises AuthRefused.
        """
        step, self._step = self._step, _Step.REFUSED
        if step is _Step.FIRST:
            challenge = _decode(payload, Challenge)
            _check_nonce(challenge.nonce)
            self._challenge = challenge
            self._step = _Step.SECOND
            mac = _mac(self._secret, _Side.TASK, self._hello, challenge)
            return msgspec.msgpack.encode(Proof(mac))
        if step is _Step.SECOND and self._challenge is not None:
            expected = _mac(self._secret, _Side.JOB_MASTER, self._hello, self._challenge)
            if not hmac.compare_digest(expected, _decode(payload, Proof).mac):
                raise AuthRefused(
                    "control connection: the JobMaster does not know the job's secret"
                )
            self._step = _Step.DONE
            return None
        raise AuthRefused("control connection: a handshake payload after the handshake's end")


class JobMasterHandshake:
    """The JobMaster's end of the handshake, for whichever job the task names."""

    def __init__(
        self, secret_of: Callable[[str], bytes | None], nonce: bytes | None = None
    ) -> None:
        self._secret_of = secret_of
        self._challenge = Challenge(nonce or new_nonce())
        self._hello: Hello | None = None
        self._step = _Step.FIRST

    @property
    def done(self) -> bool:
        """Whether the task proved itself; the last payload returned must still be sent."""
        return self._step is _Step.DONE

    @property
    def job(self) -> str:
        """The job whose secret the task knows; only once ``done``."""
        if self._hello is None or not self.done:
            raise AuthRefused("control connection: no job was proved yet")
        return self._hello.job

    def receive(self, payload: bytes) -> bytes:
        """Take the task's payload; the payload to send back. Raises AuthRefused: drop the connection."""
        step, self._step = self._step, _Step.REFUSED
        if step is _Step.FIRST:
            hello = _decode(payload, Hello)
            if hello.version != VERSION:
                raise AuthRefused(
                    f"control connection: protocol version {hello.version!r}, expected {VERSION}; "
                    f"use the same riverrun release on the driver and the workers"
                )
            _check_nonce(hello.nonce)
            self._hello = hello
            self._step = _Step.SECOND
            return msgspec.msgpack.encode(self._challenge)
        if step is _Step.SECOND and self._hello is not None:
            # A job that is not there is checked against a secret nobody has: same work, same answer.
            secret = self._secret_of(self._hello.job) or new_secret()
            expected = _mac(secret, _Side.TASK, self._hello, self._challenge)
            if not hmac.compare_digest(expected, _decode(payload, Proof).mac):
                raise AuthRefused("control connection: the peer does not know the job's secret")
            self._step = _Step.DONE
            mac = _mac(secret, _Side.JOB_MASTER, self._hello, self._challenge)
            return msgspec.msgpack.encode(Proof(mac))
        raise AuthRefused("control connection: a handshake payload after the handshake's end")


def _mac(secret: bytes, side: _Side, hello: Hello, challenge: Challenge) -> bytes:
    # Both structs are encoded with their lengths inside, so no two exchanges give the same text.
    said = msgspec.msgpack.encode((side.value, hello, challenge))
    return hmac.new(secret, said, hashlib.sha256).digest()


def _check_nonce(nonce: bytes) -> None:
    if len(nonce) != NONCE_BYTES:
        raise AuthRefused(
            f"control connection: a nonce of {len(nonce)} bytes, expected {NONCE_BYTES}"
        )


def _decode(payload: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise AuthRefused(
            f"control connection: expected {kind.__name__}, got {len(payload)} other bytes"
        ) from e
