"""The lease as the data of one node of ZooKeeper, whose version ZooKeeper checks when it is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from riverrun.cluster.ha.lease import (
    Found,
    Lease,
    LeaseConflict,
    LeaseUnreachable,
    decode_lease,
    encode_lease,
)
from riverrun.core.errors import ConfigError


class ZooKeeperLease:
    """A lease in the node ``path``.

    The node is not ephemeral. A session ends when the servers have not heard of the client, which the
    client does not know while it is paused; so leadership would need a time limit of its own beside
    the session's. The lease has one, and one is enough.
    """

    def __init__(
        self,
        quorum: str,
        path: str,
        *,
        duration_ms: int,
        connection_timeout_s: float = 15.0,
        session_timeout_s: float = 60.0,
        request_timeout_s: float = 5.0,
    ) -> None:
        """``quorum`` as ``host:port,host:port``; nothing is connected before it is used."""
        self._quorum = quorum
        self._path = path
        self._duration_ms = duration_ms
        self._connection_timeout_s = connection_timeout_s
        self._session_timeout_s = session_timeout_s
        self._request_timeout_s = request_timeout_s
        self._client: Any = None

    def read(self) -> Found:
        from kazoo.exceptions import NoNodeError  # noqa: PLC0415

        with self._reported("reading") as client:
            try:
                data, stat = self._answer(lambda: client.get_async(self._path))
            except NoNodeError:
                return Found(None, None)
        lease = decode_lease(data, where=self._path, duration_ms=self._duration_ms)
        return Found(lease, f"{stat.czxid}:{stat.version}")

    def write(self, lease: Lease, replaced: str | None) -> str:
        from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError  # noqa: PLC0415

        data = encode_lease(lease)
        with self._reported("writing") as client:
            try:
                if replaced is None:
                    _, stat = self._answer(
                        lambda: client.create_async(
                            self._path, data, makepath=True, include_data=True
                        )
                    )
                    return f"{stat.czxid}:{stat.version}"
                created, _, version = replaced.partition(":")
                stat = self._answer(
                    lambda: client.set_async(self._path, data, version=int(version))
                )
            except (BadVersionError, NodeExistsError, NoNodeError) as error:
                raise self._conflict() from error
        if str(stat.czxid) != created:
            # Somebody deleted the node and another JobManager made it anew meanwhile.
            raise self._conflict()
        return f"{created}:{stat.version}"

    def close(self) -> None:
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None

    def _conflict(self) -> LeaseConflict:
        return LeaseConflict(
            f"lease {self._path!r}: it has been replaced by another JobManager since it was read"
        )

    def _answer(self, ask: Callable[[], Any]) -> Any:
        """The answer to a request, in bounded time: kazoo itself waits until there is a connection again."""
        return ask().get(timeout=self._request_timeout_s)

    @contextmanager
    def _reported(self, operation: str) -> Iterator[Any]:
        from kazoo.exceptions import KazooException  # noqa: PLC0415
        from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

        try:
            yield self._connected()
        except (KazooException, KazooTimeoutError, OSError) as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            raise LeaseUnreachable(
                f"{operation} lease {self._path!r}: ZooKeeper at {self._quorum!r} did not do it ({what}); "
                f"are the servers up, and reachable from this machine?"
            ) from error

    def _connected(self) -> Any:
        if self._client is None:
            client = _kazoo()(hosts=self._quorum, timeout=self._session_timeout_s)
            try:
                client.start(timeout=self._connection_timeout_s)
            except BaseException:
                client.stop()
                client.close()
                raise
            self._client = client
        return self._client


def _kazoo() -> Any:
    try:
        from kazoo.client import KazooClient  # noqa: PLC0415  (an extra, for those who use ZooKeeper)
    except ImportError as error:
        raise ConfigError(
            "option 'high-availability.type' is 'zookeeper' and the package kazoo is not installed; "
            "install riverrun[zookeeper]"
        ) from error
    return KazooClient
