"""Metrics for an OpenTelemetry collector, over OTLP/HTTP; needs ``riverrun[opentelemetry]``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from riverrun.core.errors import ConfigError, ExternalError
from riverrun.metrics.reporters.reporter import ReporterSettings
from riverrun.metrics.scope import MetricScope

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, MetricsData

_ENDPOINT: Final = "http://localhost:4318/v1/metrics"
_PROTOCOLS: Final = ("http", "http/protobuf")
_NS_PER_MS: Final = 1_000_000


class OpenTelemetry:
    """Sends every report to ``exporter.endpoint``.

    Names are ``flink.<scope>.<metric>`` and the scope's variables are attributes. ``service.name``,
    ``service.version`` name the resource, ``exporter.timeout`` is in seconds.
    """

    def __init__(self, settings: ReporterSettings) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415
                OTLPMetricExporter,
            )
        except ImportError as e:
            raise ConfigError(
                f"metrics reporter {settings.name!r}: OpenTelemetry is not installed; "
                f"pip install 'riverrun[opentelemetry]'"
            ) from e
        protocol = settings.text("exporter.protocol", _PROTOCOLS[0])
        if protocol not in _PROTOCOLS:
            raise ConfigError(
                f"option {settings.key('exporter.protocol')!r}: is {protocol!r}; "
                f"expected {' or '.join(_PROTOCOLS)}"
            )
        self._settings = settings
        self._endpoint = settings.text("exporter.endpoint", _ENDPOINT)
        self._exporter = OTLPMetricExporter(
            endpoint=self._endpoint, timeout=settings.number("exporter.timeout", 10)
        )

    def report(self, scopes: Sequence[MetricScope], at: int) -> None:
        from opentelemetry.sdk.metrics.export import MetricExportResult  # noqa: PLC0415

        result = self._exporter.export(self._data(scopes, at * _NS_PER_MS))
        if result is not MetricExportResult.SUCCESS:
            raise ExternalError(
                f"metrics reporter {self._settings.name!r}: {self._endpoint!r} did not take the "
                f"metrics; set {self._settings.key('exporter.endpoint')!r} to a collector's OTLP/HTTP address"
            )

    def close(self) -> None:
        self._exporter.shutdown()

    def _data(self, scopes: Sequence[MetricScope], at_ns: int) -> MetricsData:
        from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415
            MetricsData,
            ResourceMetrics,
            ScopeMetrics,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415

        facts = {
            "service.name": self._settings.text("service.name", "riverrun"),
            "service.version": self._settings.text("service.version", ""),
        }
        library = InstrumentationScope("riverrun")
        metrics = ScopeMetrics(library, _metrics(scopes, at_ns), schema_url="")
        return MetricsData([ResourceMetrics(Resource(facts), [metrics], schema_url="")])


def _metrics(scopes: Sequence[MetricScope], at_ns: int) -> list[Metric]:
    from opentelemetry.sdk.metrics.export import Gauge, Metric, NumberDataPoint  # noqa: PLC0415

    points: dict[str, list[Any]] = {}
    for scope in scopes:
        for name, value in scope.values.items():
            if math.isfinite(value):
                point = NumberDataPoint(dict(scope.variables), 0, at_ns, value)
                points.setdefault(f"flink.{scope.kind.value}.{name}", []).append(point)
    return [Metric(name, "", "", Gauge(found)) for name, found in points.items()]
