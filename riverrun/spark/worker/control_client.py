"""The task's end of the control connection.

One daemon thread per connection reads what the JobMaster says and sends the heartbeats. It never
blocks on anything but the socket's readiness, so it notices a silent JobMaster even while the task's
own thread is stuck in a send.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeAlias, assert_never

from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import ExternalError, RiverrunError
from riverrun.protocol.auth import TaskHandshake
from riverrun.protocol.control import (
    Cancel,
    CheckpointAborted,
    CheckpointCompleted,
    ClientRun,
    Credit,
    Down,
    FromEnumerator,
    FromReader,
    Heartbeat,
    HeartbeatAck,
    Order,
    PrepareEnumerator,
    Register,
    Registered,
    Rejected,
    SendUntil,
    Start,
    TriggerCheckpoint,
    Up,
    WatermarkAllowed,
    decode_down,
    encode,
)
from riverrun.protocol.inquiries import Inquiry
from riverrun.protocol.wire import Address, FrameDecoder, frame
from riverrun.spark.worker.dead_man import DeadManSwitch

log = logging.getLogger(__name__)

_READ_BYTES: Final = 64 * 1024

Instruction: TypeAlias = Start | Cancel | Order | Inquiry
"""What the JobMaster may want of a registered task."""


class RegistrationRefused(ExternalError):  # noqa: N818
    """The JobMaster does not want this task: its attempt or job is over."""


class JobMasterGone(ExternalError):  # noqa: N818
    """There is no JobMaster at the other end any more, or this end is closed."""


class SendCanceled(RiverrunError):  # noqa: N818
    """A send that waited for credit was given up because the job is being cancelled."""


class CreditWindow:
    """How many payload bytes may still be sent to the client; blocks the sender beyond that."""

    def __init__(self, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self._uncredited = 0
        self._closed: Exception | None = None
        self._changed = threading.Condition()

    @property
    def uncredited(self) -> int:
        """Bytes sent that the client has not taken yet."""
        with self._changed:
            return self._uncredited

    def take(self, size_bytes: int) -> None:
        """Wait until ``size_bytes`` fit; more than the whole window fits when nothing is under way.

        Raises what ``close`` was given.
        """
        with self._changed:
            while self._closed is None and not self._fits(size_bytes):
                self._changed.wait()
            if self._closed is not None:
                raise self._closed
            self._uncredited += size_bytes

    def credit(self, size_bytes: int) -> None:
        """The client took ``size_bytes``."""
        with self._changed:
            self._uncredited -= size_bytes
            self._changed.notify_all()

    def close(self, why: Exception) -> None:
        """Let every ``take``, now and later, raise ``why``; only the first call counts."""
        with self._changed:
            self._closed = self._closed or why
            self._changed.notify_all()

    def _fits(self, size_bytes: int) -> bool:
        return not self._uncredited or self._uncredited + size_bytes <= self._window_bytes


class ControlClient:
    """A registered connection to the JobMaster; made by ``connect``.

    ``on_message`` (orders) and ``on_lost`` are called on the connection's thread and must not
    block. ``on_lost`` is called at most once, with the reason, and never after ``close``.
    """

    def __init__(self, sock: socket.socket, decoder: FrameDecoder, terms: Registered) -> None:
        """For ``connect``; the socket must be past the registration."""
        self._socket = sock
        self._decoder = decoder
        self._terms = terms
        self._window = CreditWindow(terms.window_bytes)
        self._send_lock = threading.Lock()
        self._sequences: dict[str, int] = defaultdict(int)
        self._closing = threading.Event()
        self._clock: Clock = SystemClock()
        self._switch: DeadManSwitch | None = None
        self._on_message: Callable[[Instruction], None] = lambda _: None
        self._on_lost: Callable[[str], None] = lambda _: None
        self._thread = threading.Thread(target=self._listen, name="riverrun-control", daemon=True)

    @staticmethod
    def connect(
        address: Address, secret: bytes, register: Register, *, timeout_ms: float = 30_000.0
    ) -> ControlClient:
        """Connect, prove both ends, and register; ``start`` must follow.

        Raises RegistrationRefused, AuthRefused, or JobMasterGone (also after ``timeout_ms``).
        """
        deadline = SystemClock().monotonic() + timeout_ms
        try:
            sock = socket.create_connection(address, timeout_ms / 1000)
        except OSError as e:
            raise JobMasterGone(f"control connection: no JobMaster at {address!r}: {e}") from e
        try:
            opening = _Opening(sock, address, deadline)
            terms = opening.register(secret, register)
            sock.settimeout(None)
        except BaseException:
            sock.close()
            raise
        return ControlClient(sock, opening.decoder, terms)

    @property
    def terms(self) -> Registered:
        """What the JobMaster set for this connection."""
        return self._terms

    def start(
        self,
        on_message: Callable[[Instruction], None],
        on_lost: Callable[[str], None],
        clock: Clock | None = None,
        switch: DeadManSwitch | None = None,
    ) -> None:
        """Begin to listen and to send heartbeats.

        ``switch`` is pressed while this connection's thread can run, and released by ``close``.
        """
        self._on_message, self._on_lost = on_message, on_lost
        self._switch = switch
        self._clock = clock or self._clock
        self._thread.start()

    def send(self, message: Up) -> None:
        """Send; blocks while the JobMaster does not read. Raises JobMasterGone, MessageTooLarge."""
        data = frame(encode(message))
        with self._send_lock:
            self._send(data)

    def send_run(
        self, operator_id: str, payload: bytes, count: int, commit: str | None = None
    ) -> None:
        """Send a pickled run of ``count`` values to the client, waiting for credit if need be.

        A run with a ``commit`` id is delivered once, however often it is sent.

        Raises SendCanceled when the job is cancelled while it waits, JobMasterGone, MessageTooLarge.
        """
        self._window.take(len(payload))
        # Numbered under the lock: runs of one operator leave in the order of their numbers.
        with self._send_lock:
            sequence = self._sequences[operator_id]
            run = ClientRun(operator_id, sequence, payload, count, commit)
            self._send(frame(encode(run)))
            self._sequences[operator_id] = sequence + 1

    def close(self, timeout: float = 5.0) -> None:
        """Close in order: what was sent arrives. Leaves no thread and no socket; idempotent.

        Waits up to ``timeout`` seconds for the JobMaster to close its end too: closing a socket with
        unread bytes in it would reset the connection and lose what was sent last.
        """
        self._closing.set()
        self._window.close(JobMasterGone("control connection: closed by this task"))
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        if self._thread.ident is None:
            self._socket.close()
        elif threading.current_thread() is not self._thread:
            self._thread.join(timeout)
            if self._thread.is_alive():
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                self._thread.join(timeout)
        if self._switch is not None:
            self._switch.release()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as e:
            raise JobMasterGone(f"control connection: the JobMaster does not listen: {e}") from e

    def _listen(self) -> None:
        try:
            reason = self._converse()
        except (OSError, ExternalError) as e:
            reason = str(e)
        self._window.close(JobMasterGone(f"control connection: {reason}"))
        # Wakes the task's thread if it is stuck in a send; the close alone would not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if not self._closing.is_set():
            log.warning("job master lost reason=%s", reason)
            self._on_lost(reason)

    def _converse(self) -> str:
        """Listen and send heartbeats until the connection ends; why it ended."""
        interval, patience = self._terms.heartbeat_interval_ms, self._terms.heartbeat_timeout_ms
        heard = beat = self._clock.monotonic()
        # What came in the same bytes as Registered has been waiting in the decoder.
        self._take(b"")
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while True:
                if self._switch is not None:
                    self._switch.press(patience / 1000)
                due = min(beat + interval, heard + patience)
                ready = selector.select(max(0.0, (due - self._clock.monotonic()) / 1000))
                now = self._clock.monotonic()
                if ready:
                    data = self._socket.recv(_READ_BYTES)
                    if not data:
                        return "the JobMaster closed the connection"
                    heard = now
                    self._take(data)
                elif now - due > interval:
                    # This process itself was held up; it did not ask, so nobody could answer.
                    heard = now
                elif now - heard >= patience:
                    return f"the JobMaster was silent for {(now - heard) / 1000:.1f} s"
                if now - beat >= interval:
                    beat = now
                    self._beat()

    def _take(self, data: bytes) -> None:
        self._decoder.feed(data)
        while (payload := self._decoder.next_payload()) is not None:
            self._handle(decode_down(payload))

    def _handle(self, message: Down) -> None:
        match message:
            case Credit():
                self._window.credit(message.bytes)
            case Cancel():
                self._window.close(SendCanceled(message.reason))
                self._on_message(message)
            case (
                Start()
                | TriggerCheckpoint()
                | CheckpointCompleted()
                | CheckpointAborted()
                | WatermarkAllowed()
                | FromReader()
                | FromEnumerator()
                | PrepareEnumerator()
                | SendUntil()
                | Inquiry()
            ):
                self._on_message(message)
            case HeartbeatAck() | Registered() | Rejected():
                pass
            case _:
                assert_never(message)

    def _beat(self) -> None:
        # A send under way is a sign of life itself, and waiting for it would make this thread deaf.
        if not self._send_lock.acquire(blocking=False):
            return
        try:
            if not self._closing.is_set() and self._has_room():
                self._socket.sendall(frame(encode(Heartbeat())))
        finally:
            self._send_lock.release()

    def _has_room(self) -> bool:
        """Whether a few bytes can be sent without waiting."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_WRITE)
            return bool(selector.select(0))


class _Opening:
    """The blocking part before the connection's thread exists."""

    def __init__(self, sock: socket.socket, address: Address, deadline: float) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.decoder = FrameDecoder()
        self._socket = sock
        self._address = address
        self._deadline = deadline

    def register(self, secret: bytes, register: Register) -> Registered:
        handshake = TaskHandshake(register.job, secret)
        self._send(handshake.hello())
        while not handshake.done:
            answer = handshake.receive(self._receive("does the secret belong to this job?"))
            if answer is not None:
                self._send(answer)
        self._send(encode(register))
        message = decode_down(self._receive("has the job ended?"))
        match message:
            case Registered():
                return message
            case Rejected(reason):
                raise RegistrationRefused(
                    f"task {register.task!r} subtask {register.subtask}: not registered: {reason}"
                )
            case _:
                raise JobMasterGone(
                    f"control connection: expected an answer to Register, got {message!r}"
                )

    def _send(self, payload: bytes) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(frame(payload))
        except OSError as e:
            raise JobMasterGone(f"control connection to {self._address!r}: {e}") from e

    def _receive(self, question: str) -> bytes:
        while (payload := self.decoder.next_payload()) is None:
            try:
                self._socket.settimeout(self._left())
                data = self._socket.recv(_READ_BYTES)
            except OSError as e:
                raise JobMasterGone(f"control connection to {self._address!r}: {e}") from e
            if not data:
                raise JobMasterGone(
                    f"control connection to {self._address!r}: closed by the JobMaster; {question}"
                )
            self.decoder.feed(data)
        return payload

    def _left(self) -> float:
        left = (self._deadline - SystemClock().monotonic()) / 1000
        if left <= 0:
            raise TimeoutError("no answer in time")
        return left
