"""A sink that sends batches of records to a server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.extras import require
from riverrun.connectors.web.endpoint import Endpoint, HeaderValue
from riverrun.connectors.web.http_calls import HttpCalls, HttpConnection, HttpRefused
from riverrun.connectors.web.pages import HttpFormat
from riverrun.core.time import Duration, DurationLike, to_millis
from riverrun.serde.row import Row

__all__ = ["HttpRefusal", "HttpSink"]

_TYPES: Final = {
    HttpFormat.JSON: "application/json",
    HttpFormat.JSON_LINES: "application/x-ndjson",
    HttpFormat.TEXT_LINES: "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """A batch that the server does not want."""

    status: int
    reason: str
    body: bytes
    """The batch as it was sent."""
    key: str


OnRefusal: TypeAlias = Callable[[HttpRefusal], None]
Encode: TypeAlias = Callable[[Sequence[Any]], bytes]


class HttpSink(Sink[Any]):
    """Posts records in batches; at least once.

    Each request has an ``Idempotency-Key``, and an attempt that is made again has the same one, so that a
    server that remembers keys drops what it has. After a failure of the job records since the last
    checkpoint are sent again, in batches of other sizes and with other keys. With ``after_checkpoint`` a
    batch is part of a checkpoint and sent when that is complete: then it has the same content and key
    however often it is sent, and a server that remembers keys sees each record once.

    Args:
        url: where to send to.
        form: how a batch is written, or what makes the bytes of one.
        batch_size: how many records a request has at most.
        method: POST, PUT or PATCH.
        headers: sent with each request; a value may be a callable that is asked each time.
        token: sent as ``Authorization: Bearer``; the same.
        after_checkpoint: whether batches wait for their checkpoint.
        on_refusal: called in the worker with a batch that the server refuses (400 to 499), which is then
            left out; without it the job fails.
        timeout: how long an answer may take.
        max_retries: how often in a row to try again when the server fails; negative: for ever.
        key_header: the header of the key.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        *,
        form: HttpFormat | Encode = HttpFormat.JSON,
        batch_size: int = 500,
        method: str = "POST",
        headers: Mapping[str, HeaderValue] | None = None,
        token: HeaderValue | None = None,
        after_checkpoint: bool = False,
        on_refusal: OnRefusal | None = None,
        timeout: DurationLike = Duration.of_seconds(30),  # noqa: B008  (immutable)
        max_retries: int = 5,
        key_header: str = "Idempotency-Key",
    ) -> None:
        require("httpx2", extra="http", user="HttpSink")
        endpoint = Endpoint(url, ("http", "https"), "http sink", dict(headers or {}), token)
        if batch_size < 1:
            raise ValueError(f"http sink: the batch size is {batch_size}; expected 1 or more")
        if not isinstance(form, HttpFormat) and not callable(form):
            raise TypeError(
                f"http sink: the form is {form!r}; expected a HttpFormat or a callable of records"
            )
        self.calls = HttpCalls(endpoint, to_millis(timeout) / 1000, max_retries, Backoff())
        self.form = form
        self.batch_size = batch_size
        self.method = method
        self.after_checkpoint = after_checkpoint
        self.on_refusal = on_refusal
        self.key_header = key_header

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        # Keys of one attempt mean nothing to another: its batches are cut elsewhere, and numbers of
        # checkpoints come again after a job has gone back to an older one.
        job = context.runtime_context().get_job_id()
        owner = f"{job}-{context.operator_id}-{context.subtask_index}-{uuid.uuid4().hex[:12]}"
        if self.after_checkpoint and context.checkpointing:
            return _HoldingWriter(self, owner)
        return _SendingWriter(self, owner)

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        del context
        return _BatchCommitter(self) if self.after_checkpoint else None

    def bodies(self, values: Sequence[Any]) -> list[bytes]:
        """The bytes of each batch."""
        encode = self.form if callable(self.form) else _ENCODERS[self.form]
        size = self.batch_size
        return [encode(values[at : at + size]) for at in range(0, len(values), size)]


@dataclass(frozen=True, slots=True)
class HttpBatch:
    """A batch that waits for its checkpoint."""

    owner: str
    """Who wrote it, whoever sends it: another one in each attempt."""
    body: bytes


class _Sender:
    """Sends batches over one connection."""

    def __init__(self, sink: HttpSink) -> None:
        self._sink = sink
        self._connection: HttpConnection = sink.calls.connect()

    def send(self, key: str, body: bytes) -> None:
        sink = self._sink
        headers = {sink.key_header: key}
        if isinstance(sink.form, HttpFormat):
            headers["Content-Type"] = _TYPES[sink.form]
        try:
            self._connection.call(sink.method, headers=headers, content=body)
        except HttpRefused as refused:
            if sink.on_refusal is None:
                raise
            sink.on_refusal(HttpRefusal(refused.status, refused.answer, body, key))

    def close(self) -> None:
        self._connection.close()


class _SendingWriter(SinkWriter[Any]):
    """Sends each run as it comes: under load runs are long, else nothing waits."""

    def __init__(self, sink: HttpSink, owner: str) -> None:
        self._sink = sink
        self._owner = owner
        self._sender: _Sender | None = None
        self._sent = 0

    def open(self) -> None:
        self._sender = _Sender(self._sink)

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        assert self._sender is not None  # noqa: S101  (opened before it writes)
        for body in self._sink.bodies(values):
            self._sent += 1
            self._sender.send(f"{self._owner}-{self._sent}", body)

    def close(self) -> None:
        if self._sender is not None:
            self._sender.close()


class _HoldingWriter(SinkWriter[Any]):
    """Holds batches back until their checkpoint is complete."""

    def __init__(self, sink: HttpSink, owner: str) -> None:
        self._sink = sink
        self._owner = owner
        self._held: list[Any] = []
        self._bodies: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        # Full batches become bytes at once, which are smaller and have nothing to do at a checkpoint.
        self._held += values
        full = len(self._held) - len(self._held) % self._sink.batch_size
        if full:
            self._bodies += self._sink.bodies(self._held[:full])
            del self._held[:full]

    def prepare_commit(self) -> list[Any]:
        bodies, self._bodies = [*self._bodies, *self._sink.bodies(self._held)], []
        self._held = []
        return [HttpBatch(self._owner, body) for body in bodies]


class _BatchCommitter(Committer):
    def __init__(self, sink: HttpSink) -> None:
        self._sender = _Sender(sink)

    def commit(self, committables: Sequence[Committable]) -> None:
        for each in committables:
            self._sender.send(f"{each.value.owner}-{each.id}", each.value.body)

    def close(self) -> None:
        self._sender.close()


def _plain(value: Any) -> Any:
    """What JSON has no form for; rows are objects if their fields have names."""
    if isinstance(value, Row):
        try:
            return value.as_dict()
        except TypeError:
            return list(value)
    raise NotImplementedError(f"no JSON form for a {type(value).__name__}; map it to one before")


_json = msgspec.json.Encoder(enc_hook=_plain)

_ENCODERS: Final[Mapping[HttpFormat, Encode]] = {
    HttpFormat.JSON: _json.encode,
    HttpFormat.JSON_LINES: _json.encode_lines,
    HttpFormat.TEXT_LINES: lambda values: "".join(f"{value}\n" for value in values).encode(),
}
