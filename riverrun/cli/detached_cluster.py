"""JobManagers that go on when their terminal is closed: how they are started and ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from riverrun.cluster.ha.high_availability import high_availability
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.jobmanager.local_clusters import LocalCluster, ensure_state_folder, local_clusters
from riverrun.jobmanager.process import Answer, Start
from riverrun.rest.server import ServerSettings

_MODULE: Final = "riverrun.jobmanager.process"
_LOGS_KEPT: Final = 20
_TAIL_LINES: Final = 20
_LOOK_S: Final = 0.05


class StandsBy(ExternalError):  # noqa: N818
    """A JobManager was started and waits until it leads."""


class AlreadyServed(ExternalError):  # noqa: N818
    """A JobManager of this user serves on the address."""


def check_is_free(config: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Refuse settings for an address on which a JobManager of this user serves.

    Raises:
        AlreadyServed: one does.
        ConfigError: the settings name no address, or one that is open to anybody.
    """
    ports = ServerSettings.from_config(config).ports
    taken = {int(each.url.rpartition(":")[2].rstrip("/")): each for each in local_clusters(environ)}
    if ports and all(port in taken for port in ports):
        there = taken[ports[0]]
        raise AlreadyServed(
            f"JobManager: one serves at {there.url} already (process {there.pid}); end it with river "
            f"cluster stop, or take another port with --port"
        )


def start_detached(
    config: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    log_file: Path | None = None,
    timeout_s: float = 120.0,
) -> LocalCluster:
    """Start a JobManager as a process of its own; returns when it serves.

    Args:
        config: its settings.
        environ: the environment variables, of the new process too.
        log_file: where it writes to; a new file in the folder of states if not given.
        timeout_s: how long to wait until it serves.

    Raises:
        StandsBy: another one leads; it goes on and takes over one day.
        ExternalError: it does not come to that, and why.
    """
    log_file = log_file.absolute() if log_file is not None else _new_log(environ)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as answers, _opened(log_file) as log:
        process = subprocess.Popen(  # noqa: S603  (this very interpreter)
            [sys.executable, "-m", _MODULE, str(writing)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        try:
            _hand_over(process, Start(config=dict(config), log=str(log_file)))
            is_there, _, _ = select.select([answers], [], [], timeout_s)
            said = answers.read() if is_there else None
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if said is None and high_availability(config) is not None:
        _leave(process)
        raise StandsBy(
            f"JobManager: process {process.pid} stands by, because another one leads; see its log "
            f"{str(log_file)!r}"
        )
    return _cluster(process, said, log_file, timeout_s)


def end_process(cluster: LocalCluster, timeout_s: float) -> None:
    """End a JobManager of this machine and wait until it is gone.

    Raises:
        ExternalError: it still lives after ``timeout_s``.
    """
    if cluster.is_alive:
        os.kill(cluster.pid, signal.SIGTERM)
    await_end(cluster, timeout_s)


def await_end(cluster: LocalCluster, timeout_s: float) -> None:
    """Wait until a JobManager of this machine is gone; ExternalError after ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while cluster.is_alive:
        if time.monotonic() >= end:
            raise ExternalError(
                f"JobManager {cluster.url}: its process {cluster.pid} still lives after {timeout_s:g} s; "
                f"see its log {cluster.log or 'in its terminal'}, or end it with kill -9 {cluster.pid}"
            )
        time.sleep(_LOOK_S)


def _hand_over(process: subprocess.Popen[bytes], start: Start) -> None:
    # One that has ended says why in another way.
    with suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as pipe:
        pipe.write(msgspec.json.encode(start))


def _cluster(
    process: subprocess.Popen[bytes], said: bytes | None, log_file: Path, timeout_s: float
) -> LocalCluster:
    if said is None:
        process.terminate()
        process.wait()
        raise ExternalError(
            f"JobManager: does not serve after {timeout_s:g} s and was ended; see its log {str(log_file)!r}"
        )
    if not said:
        code = process.wait()
        raise ExternalError(
            f"JobManager: its process ended with code {code} before it served; the end of its log "
            f"{str(log_file)!r}:\n{_tail(log_file)}"
        )
    answer = msgspec.json.decode(said, type=Answer)
    if answer.cluster is None:
        process.wait()
        raise ExternalError(answer.error or "JobManager: does not say why it ended")
    _leave(process)
    return answer.cluster


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Let Python know that nobody waits for the process, which goes on without this one."""
    process.returncode = 0


def _new_log(environ: Mapping[str, str]) -> Path:
    folder = ensure_state_folder(environ) / "logs"
    folder.mkdir(exist_ok=True)
    for old in sorted(folder.glob("jobmanager-*.log"))[: -_LOGS_KEPT + 1]:
        old.unlink(missing_ok=True)
    at = datetime.now().astimezone()
    return folder / f"jobmanager-{at:%Y%m%d-%H%M%S}-{os.getpid()}.log"


def _opened(log_file: Path) -> IO[bytes]:
    try:
        return log_file.open("ab")
    except OSError as e:
        raise ConfigError(
            f"--log-file {str(log_file)!r}: cannot be written ({e}); name another file"
        ) from e


def _tail(log_file: Path) -> str:
    lines = log_file.read_text("utf-8", "replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-_TAIL_LINES:])
