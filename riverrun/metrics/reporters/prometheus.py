"""Metrics in Prometheus' text format, with the names of Flink's own reporter.

A metric is called ``flink_<scope>_<metric>``, such as ``flink_taskmanager_job_task_numRecordsIn``, and
the scope's variables are its labels, so that boards made for Flink show riverrun's jobs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from riverrun.core.errors import ConfigError, ExternalError
from riverrun.metrics.reporters.reporter import ReporterSettings
from riverrun.metrics.scope import MetricScope

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "flink"
_PORTS: Final = "9249"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_:]")


def exposition(scopes: Iterable[MetricScope], *, plain_labels: bool = False) -> bytes:
    """The page that Prometheus reads.

    Args:
        scopes: what there is to say.
        plain_labels: whether everything but letters, digits, ``_`` and ``:`` becomes ``_`` in labels, too.
    """
    page = _Page(list(scopes), plain_labels)
    return generate_latest(cast("CollectorRegistry", page))


def metric_name(scope: MetricScope, name: str) -> str:
    """The metric's name.

    >>> from riverrun.metrics.scope import ScopeKind
    >>> metric_name(MetricScope(ScopeKind.TASK, {}, {}), "latency.p99")
    'flink_taskmanager_job_task_latency_p99'
    """
    return _NOT_IN_NAMES.sub("_", f"{_PREFIX}.{scope.kind.value}.{name}")


@dataclass(frozen=True, slots=True)
class _Page:
    """One page: a collector of values that do not change."""

    scopes: Sequence[MetricScope]
    plain_labels: bool

    def collect(self) -> Iterator[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        for scope in self.scopes:
            labels = {name: self._label(value) for name, value in scope.variables.items()}
            for name, value in scope.values.items():
                full = metric_name(scope, name)
                if full not in families:
                    what = f"{name} (scope: {scope.kind.value.replace('.', '_')})"
                    families[full] = GaugeMetricFamily(full, what)
                families[full].add_sample(full, labels, value)
        yield from families.values()

    def _label(self, value: str) -> str:
        return _NOT_IN_NAMES.sub("_", value) if self.plain_labels else value


class PrometheusEndpoint:
    """Serves the page on a port of its own; made with ``open``."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, name="riverrun-prometheus", daemon=True
        )
        self._thread.start()

    @staticmethod
    def open(
        settings: ReporterSettings, scopes: Callable[[], Sequence[MetricScope]]
    ) -> PrometheusEndpoint:
        """Serve on ``host`` (loopback unless set) and the first free one of ``port``.

        Raises:
            ConfigError: the ports are none.
            ExternalError: none of them is free.
        """
        plain = settings.text("filterLabelValueCharacters", "false").strip().lower() == "true"

        class _Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exposition(settings.wanted(scopes()), plain_labels=plain)
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", MEDIA_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """A page that is read every few seconds is no news."""

        return PrometheusEndpoint(_bound(settings, _Handler))

    @property
    def port(self) -> int:
        """Where it serves."""
        return int(self._server.server_address[1])

    def report(self, scopes: Sequence[MetricScope], at: int) -> None:
        """Nothing: the page is made when somebody reads it."""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _bound(
    settings: ReporterSettings, handler: type[BaseHTTPRequestHandler]
) -> ThreadingHTTPServer:
    host, text = settings.text("host", "127.0.0.1"), settings.text("port", _PORTS)
    for port in _ports(settings, text):
        try:
            return ThreadingHTTPServer((host, port), handler)
        except OSError:
            continue
    raise ExternalError(
        f"metrics reporter {settings.name!r}: none of the ports {text!r} of {host!r} is free; "
        f"set {settings.key('port')!r}"
    )


def _ports(settings: ReporterSettings, text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        try:
            yield from range(int(first), int(last or first) + 1)
        except ValueError as e:
            raise ConfigError(
                f"option {settings.key('port')!r}: is {text!r}; expected ports such as '9250-9260'"
            ) from e
