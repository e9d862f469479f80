from __future__ import annotations

import json
import math
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from riverrun.core.errors import ConfigError, ExternalError
from riverrun.metrics.reporters.configured import configured_reporters, reporter_names
from riverrun.metrics.reporters.json_lines import JsonLines
from riverrun.metrics.reporters.prometheus import PrometheusEndpoint, exposition
from riverrun.metrics.reporters.reporter import ReporterSettings
from riverrun.metrics.scope import MetricScope, ScopeKind, ScopeNames

_TASK = MetricScope(
    ScopeKind.TASK,
    {"host": "h", "tm_id": "0", "job_name": 'my "job"', "task_name": "map", "subtask_index": "1"},
    {"numRecordsIn": 12.0, "latency.p99": 3.5, "broken": math.nan},
)
_JOB = MetricScope(ScopeKind.JOB_MANAGER_JOB, {"job_name": "orders"}, {"uptime": 7.0})


def settings(name: str = "it", **entries: str) -> ReporterSettings:
    return ReporterSettings(name=name, entries={k.replace("_", "."): v for k, v in entries.items()})


def test_prometheus_reads_the_page_with_flinks_names() -> None:
    found = {
        family.name: family.samples[0]
        for family in text_string_to_metric_families(exposition([_TASK, _JOB]).decode())
    }

    sample = found["flink_taskmanager_job_task_numRecordsIn"]
    assert (sample.value, sample.labels) == (12.0, _TASK.variables)
    assert found["flink_taskmanager_job_task_latency_p99"].value == 3.5
    assert math.isnan(found["flink_taskmanager_job_task_broken"].value)
    assert found["flink_jobmanager_job_uptime"].labels == {"job_name": "orders"}


def test_labels_can_be_reduced_to_plain_characters() -> None:
    assert b'job_name="my__job_"' in exposition([_TASK], plain_labels=True)


def test_prometheus_is_served_on_a_port_of_its_own() -> None:
    endpoint = PrometheusEndpoint.open(settings(port="0"), lambda: [_JOB])
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics") as answer:
            assert b"flink_jobmanager_job_uptime" in answer.read()
    finally:
        endpoint.close()


def test_a_port_that_is_taken_is_said_so() -> None:
    first = PrometheusEndpoint.open(settings(port="0"), list)
    try:
        with pytest.raises(ExternalError, match=r"metrics\.reporter\.it\.port"):
            PrometheusEndpoint.open(settings(port=str(first.port)), list)
    finally:
        first.close()


def test_json_lines_hold_a_scope_each_and_begin_anew_when_the_file_is_large(tmp_path: Path) -> None:
    reporter = JsonLines(settings(**{"max-size": "300b", "max-files": "2"}), tmp_path)

    for at in range(1, 6):
        reporter.report([_TASK, _JOB], at)
    reporter.close()

    assert {path.name for path in tmp_path.iterdir()} == {
        "metrics.jsonl",
        "metrics.jsonl.1",
        "metrics.jsonl.2",
    }
    lines = (tmp_path / "metrics.jsonl.1").read_text().splitlines()
    task, job = map(json.loads, lines)
    assert task["at"] == 5
    assert task["metrics"] == {"numRecordsIn": 12.0, "latency.p99": 3.5}
    assert job["scope"] == "<host>.jobmanager.orders"


def test_scope_formats_make_the_names() -> None:
    names = ScopeNames({ScopeKind.TASK: "<job_name>.<task_name>-<subtask_index>"}, "/")

    assert names.of(_TASK) == 'my "job"/map-1'


def test_filters_choose_metrics_by_scope_and_name() -> None:
    chosen = settings(
        filter_includes="taskmanager.*:num*,latency*;jobmanager.job", filter_excludes="*:*p99"
    ).wanted([_TASK, _JOB])

    assert [dict(scope.values) for scope in chosen] == [{"numRecordsIn": 12.0}, {"uptime": 7.0}]


def test_variables_are_hidden_and_added() -> None:
    (scope,) = settings(
        scope_variables_excludes="job_name", scope_variables_additional="region:eu"
    ).wanted([_JOB])

    assert scope.variables == {"region": "eu"}


def test_reporters_are_those_listed_or_those_with_a_factory() -> None:
    factory = {"metrics.reporter.a.factory.class": "json", "metrics.reporter.b.factory.class": "x"}

    assert reporter_names(factory) == ["a", "b"]
    assert reporter_names({**factory, "metrics.reporters": "a"}) == ["a"]


def test_reporters_of_flink_that_are_not_here_are_left_out(tmp_path: Path) -> None:
    config = {
        "metrics.reporters": "jmx;lines",
        "metrics.reporter.jmx.factory.class": "org.apache.flink.metrics.jmx.JMXReporterFactory",
        "metrics.reporter.lines.factory.class": "json",
    }

    found = configured_reporters(config, list, tmp_path)

    assert [each.settings.name for each in found] == ["lines"]
    for each in found:
        each.reporter.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"metrics.reporters": "carrier-pigeon"}, "carrier-pigeon"),
        ({"metrics.reporters": "json", "metrics.reporter.json.interval": "soon"}, "interval"),
        ({"metrics.reporters": "prom", "metrics.reporter.prom.port": "x"}, "ports such as"),
    ],
)
def test_settings_that_cannot_be_read_are_refused(config: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        configured_reporters(config, list)


class _Collector(BaseHTTPRequestHandler):
    taken: list[bytes]
    status = 200

    def do_POST(self) -> None:
        self.taken.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def collector() -> Iterator[tuple[str, type[_Collector]]]:
    kind = type("Collector", (_Collector,), {"taken": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/metrics", kind
    server.shutdown()
    server.server_close()
    thread.join()


def test_opentelemetry_collectors_get_the_values(collector: tuple[str, type[_Collector]]) -> None:
    service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    address, received = collector
    config = {
        "metrics.reporters": "otel",
        "metrics.reporter.otel.exporter.endpoint": address,
        "metrics.reporter.otel.service.name": "prod",
    }
    (found,) = configured_reporters(config, list)

    found.reporter.report([_TASK, _JOB], 1_700_000_000_000)
    found.reporter.close()

    (resource,) = service.ExportMetricsServiceRequest.FromString(received.taken[0]).resource_metrics
    assert resource.resource.attributes[0].value.string_value == "prod"
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    point = metrics["flink.taskmanager.job.task.numRecordsIn"].gauge.data_points[0]
    assert point.as_double == 12.0
    assert point.time_unix_nano == 1_700_000_000_000 * 1_000_000
    assert {each.key: each.value.string_value for each in point.attributes} == _TASK.variables
    assert "flink.taskmanager.job.task.broken" not in metrics


def test_a_collector_that_refuses_is_named(collector: tuple[str, type[_Collector]]) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    address, received = collector
    received.status = 400
    entries = {"metrics.reporters": "otel", "metrics.reporter.otel.exporter.endpoint": address}
    (found,) = configured_reporters(entries, list)

    with pytest.raises(ExternalError, match=r"exporter\.endpoint"):
        found.reporter.report([_JOB], 1)
    found.reporter.close()


def test_opentelemetry_that_is_not_installed_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)

    with pytest.raises(ConfigError, match=r"riverrun\[opentelemetry\]"):
        configured_reporters({"metrics.reporters": "otel"}, list)
