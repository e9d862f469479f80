"""The JVM that Spark's driver runs in: started without its chatter, and ended for good.

Java and Spark print a few lines at every start that say nothing to anybody. The JVM's error stream is
therefore read here and passed on without them; what workers print (in local mode they share the
stream) reaches the console as before.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

_CHATTER: Final = (
    "WARNING: Using incubator modules:",
    'Setting default log level to "',
    "To adjust logging level use sc.setLogLevel",
    "Using Spark's default log4j profile",
)
_EXIT_SECONDS: Final = 10.0
_LINE_BYTES: Final = 1 << 16


class _Launched:
    """The gateway that ``launch`` made, while it is there; a JVM that others started is not ours to end."""

    gateway: Any = None


def launch(settings: dict[str, str]) -> None:
    """Start the JVM with ``settings``; the next SparkSession of this process uses it."""
    if SparkContext._gateway is not None:  # noqa: SLF001  (no public way to ask)
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    gateway = launch_gateway(conf, {"stderr": subprocess.PIPE})
    _Launched.gateway = gateway
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001
    threading.Thread(
        target=_pass_on, args=(gateway.proc.stderr,), name="riverrun-jvm-stderr", daemon=True
    ).start()


def stop(session: SparkSession) -> None:
    """Stop the Spark of ``session``, also when its JVM is gone already."""
    gone = (Py4JError, OSError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of a JVM that does not answer
        with suppress(*gone):
            session.sparkContext.stop()
        with suppress(*gone):
            # Again: the first call gives up half-way where the JVM refuses the connection.
            session.stop()
    SparkSession._instantiatedSession = None  # noqa: SLF001
    SparkSession._activeSession = None  # noqa: SLF001


def shut_down() -> None:
    """End the JVM that ``launch`` started, if it did; Spark must be stopped before."""
    gateway, _Launched.gateway = _Launched.gateway, None
    if gateway is None:
        return
    if SparkContext._gateway is gateway:  # noqa: SLF001
        SparkContext._gateway = None  # noqa: SLF001
        SparkContext._jvm = None  # noqa: SLF001
    with suppress(OSError, Py4JError):
        gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()  # Spark's gateway ends when its standard input does
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _pass_on(stream: IO[bytes]) -> None:
    with stream:
        # In pieces: a worker may print for ever without ending a line.
        for line in without_chatter(iter(lambda: stream.readline(_LINE_BYTES), b"")):
            with suppress(ValueError, OSError):  # the console may be closed before the JVM is
                sys.stderr.write(line)
                sys.stderr.flush()


def without_chatter(lines: Iterable[bytes]) -> Iterable[str]:
    """The lines that somebody may want to read.

    >>> list(without_chatter([b"WARNING: Using incubator modules: x", b"ouch"]))
    ['ouch']
    """
    for raw in lines:
        line = raw.decode(errors="replace")
        if not line.startswith(_CHATTER):
            yield line
