"""Spark sessions: one of our own for ``local`` and ``spark://`` masters, or the user's.

Jobs always run in a session derived with ``newSession``: it shares the Spark application and has SQL
settings of its own, so nothing changes for other users of the session.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from riverrun.core import options
from riverrun.core.errors import ConfigError, ExternalError, RiverrunError
from riverrun.spark.driver import gateway
from riverrun.spark.driver.explain import explain
from riverrun.spark.driver.jvm import SparkJvm
from riverrun.spark.driver.settings import application_settings, check_context, session_settings
from riverrun.spark.java import ensure_java_home

log = logging.getLogger(__name__)

_LOCAL: Final = re.compile(r"^local(?:\[(\*|\d+)\])?$")
_LOOPBACK: Final = "127.0.0.1"
# In local mode the JVM only moves bytes between workers: the first compiler tier does that as fast as
# the second (measured), and without the second a session starts in half the time.
_LOCAL_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_CLUSTER_JVM: Final = "-XX:+UseParallelGC"
_creating = threading.Lock()


class SessionHandle:
    """A session that jobs may use; ``close`` ends it only if riverrun started it, and nobody else uses it."""

    def __init__(self, session: SparkSession, application: _Application | None = None) -> None:
        self.user_session = session
        self.jvm = SparkJvm(session)
        self._application = application

    def for_job(self) -> SparkSession:
        """A session with the SQL settings that a job needs, beside the one that others use."""
        session = self.user_session.newSession()
        for key, value in session_settings().items():
            session.conf.set(key, value)
        return session

    def close(self) -> None:
        """Give the session back; a second call does nothing."""
        application, self._application = self._application, None
        if application is not None:
            application.release()


class _Application:
    """The Spark application that riverrun started: one per process, ended when its last user leaves."""

    current: ClassVar[_Application | None] = None

    def __init__(self, session: SparkSession, master: str, scratch: Path) -> None:
        self._session = session
        self._jvm = SparkJvm(session)
        self._scratch = scratch
        self._users = 0
        self._ended = False
        self.master = master
        self._jvm.delete_at_exit(scratch)

    @property
    def stopped(self) -> bool:
        """Whether somebody else stopped it."""
        return self._jvm.stopped()

    def use(self) -> SessionHandle:
        """A handle for one more user; called with the lock held."""
        self._users += 1
        return SessionHandle(self._session, self)

    def release(self) -> None:
        """One user less."""
        with _creating:
            self._users -= 1
            if self._users == 0:
                self.end()

    def end(self) -> None:
        """Stop Spark and its JVM, and remove what they wrote; called with the lock held."""
        if self._ended:
            return
        self._ended = True
        _Application.current = None
        gateway.stop(self._session)
        gateway.shut_down()
        shutil.rmtree(self._scratch, ignore_errors=True)


def use_session(session: SparkSession) -> SessionHandle:
    """The user's own session, checked: SettingsDoNotServe lists every setting in the way."""
    if not isinstance(session, SparkSession):
        raise ConfigError(
            f"get_execution_environment(spark=...): got {type(session).__name__}, "
            f"expected a classic pyspark.sql.SparkSession (Spark Connect has no pipelined exchange)"
        )
    conf = session.sparkContext.getConf()
    check_context(conf.get)
    return SessionHandle(session)


def start_session(master: str, config: Mapping[str, str]) -> SessionHandle:
    """A Spark application of our own on ``master``, sized for riverrun."""
    with _creating:
        running = _Application.current
        if running is not None and not running.stopped:
            if running.master != master:
                log.warning(
                    "spark runs already in this process asked=%s used=%s", master, running.master
                )
            return running.use()
        if running is not None:
            running.end()
        if SparkContext._active_spark_context is not None:  # noqa: SLF001  (no public way to ask)
            return use_session(SparkSession.builder.getOrCreate())
        application = _Application.current = _start(master, config)
        return application.use()


def _start(master: str, config: Mapping[str, str]) -> _Application:
    ensure_java_home(os.environ)
    _quieten_the_bridge()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = Path(tempfile.mkdtemp(prefix="riverrun-"))
    settings = {
        **application_settings(),
        **_own_settings(master, config, scratch),
        **{key: value for key, value in config.items() if key.startswith("spark.")},
    }
    builder = SparkSession.builder.master(spark_master(master)).appName("riverrun")
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        check_context(settings.get)
        gateway.launch(settings)
        session = builder.getOrCreate()
    except BaseException as error:
        gateway.shut_down()
        shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, RiverrunError) or not isinstance(error, Exception):
            raise
        raise ExternalError(f"Spark did not start on {master!r}: {explain(str(error))}") from error
    session.sparkContext.setLogLevel("OFF")
    log.info("spark started master=%s version=%s", master, session.version)
    return _Application(session, master, scratch)


def _quieten_the_bridge() -> None:
    """Keep the talk of the bridge to the JVM out of a program's log, unless the program asked for it."""
    bridge = logging.getLogger("py4j")
    if bridge.level == logging.NOTSET:
        bridge.setLevel(logging.WARNING)


def spark_master(master: str) -> str:
    """The master as Spark spells it.

    >>> spark_master("local"), spark_master("local[3]"), spark_master("spark://h:7077")
    ('local[*]', 'local[3]', 'spark://h:7077')
    """
    return "local[*]" if master == "local" else master


def local_cores(master: str) -> int | None:
    """How many cores a local master has; ``None`` when it is not local.

    >>> local_cores("local[3]"), local_cores("spark://h:7077")
    (3, None)
    """
    match = _LOCAL.match(master)
    if match is None:
        return None
    cores = match.group(1)
    return (os.cpu_count() or 1) if cores in (None, "*") else int(cores)


def _own_settings(master: str, config: Mapping[str, str], scratch: Path) -> dict[str, str]:
    quiet = files("riverrun.spark.driver") / "log4j2.properties"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": (
            f'"-Dlog4j2.configurationFile={quiet}" "-Djava.io.tmpdir={scratch}" '
            f"{_LOCAL_JVM if local_cores(master) else _CLUSTER_JVM}"
        ),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    cores = local_cores(master)
    if cores is not None:
        # Slots are only a count: a job of any size finds room, and the cores are shared.
        settings["spark.task.cpus"] = f"{cores / options.LOCAL_SLOTS.get(config):.6f}"
        settings["spark.driver.host"] = _LOOPBACK
        settings["spark.driver.bindAddress"] = _LOOPBACK
    return settings
