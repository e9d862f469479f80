"""Connectors whose package is not installed say what to install, where the program is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from riverrun.api.serialization import SimpleStringSchema
from riverrun.connectors.base.extras import MissingExtra
from riverrun.connectors.redis.commands import RedisCommand
from riverrun.connectors.redis.lookup import RedisLookupFunction
from riverrun.connectors.redis.sink import RedisSink
from riverrun.connectors.redis.stream_source import RedisStreamSource
from riverrun.connectors.web.http_sink import HttpSink
from riverrun.connectors.web.polling_source import HttpPollingSource
from riverrun.connectors.web.websocket_sink import WebSocketSink
from riverrun.connectors.web.websocket_source import WebSocketSource


def command(value: Any) -> RedisCommand:
    return RedisCommand.set("key", value)


@pytest.mark.parametrize(
    ("package", "extra", "make"),
    [
        ("httpx2", "http", lambda: HttpPollingSource("http://x")),
        ("httpx2", "http", lambda: HttpSink("http://x")),
        ("websockets", "http", lambda: WebSocketSource("ws://x")),
        ("websockets", "http", lambda: WebSocketSink("ws://x", SimpleStringSchema())),
        ("redis", "redis", lambda: RedisSink("redis://x", command)),
        ("redis", "redis", lambda: RedisStreamSource("redis://x", "stream")),
        ("redis", "redis", lambda: RedisLookupFunction("redis://x", str)),
    ],
)
def test_what_is_missing_is_told_when_the_connector_is_described(
    package: str, extra: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtra, match=rf"'{package}'.*pip install 'riverrun\[{extra}\]'"):
        make()


def test_connectors_are_imported_without_their_packages() -> None:
    program = (
        "import sys\n"
        "sys.modules.update(httpx2=None, websockets=None, redis=None)\n"
        "from riverrun import HttpSink, RedisSink, RedisStreamSource, WebSocketSource\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
