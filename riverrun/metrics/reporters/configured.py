"""The reporters that the settings ask for: ``metrics.reporters`` and ``metrics.reporter.<name>.*``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from riverrun.core import metric_options
from riverrun.core.errors import ConfigError
from riverrun.metrics.reporters.json_lines import JsonLines
from riverrun.metrics.reporters.opentelemetry import OpenTelemetry
from riverrun.metrics.reporters.prometheus import PrometheusEndpoint
from riverrun.metrics.reporters.reporter import Reporter, ReporterSettings
from riverrun.metrics.scope import FORMAT_OPTIONS, MetricScope, ScopeNames

log = logging.getLogger(__name__)

_FACTORY: Final = "factory.class"
_KINDS: Final[Mapping[str, str]] = {
    "prom": "prometheus",
    "prometheus": "prometheus",
    "prometheusreporterfactory": "prometheus",
    "json": "json",
    "jsonlines": "json",
    "jsonlinesreporterfactory": "json",
    "otel": "opentelemetry",
    "otlp": "opentelemetry",
    "opentelemetry": "opentelemetry",
    "opentelemetrymetricreporterfactory": "opentelemetry",
}
"""By the reporter's name, or by the end of its factory's name."""
_FLINK: Final = "org.apache.flink."


@dataclass(frozen=True, slots=True)
class ConfiguredReporter:
    """A reporter and what it was told."""

    settings: ReporterSettings
    reporter: Reporter
    is_asked: bool = False
    """Whether it waits to be asked, so that nothing needs to be brought to it."""


def configured_reporters(
    config: Mapping[str, str],
    scopes: Callable[[], Sequence[MetricScope]],
    folder: Path | None = None,
) -> list[ConfiguredReporter]:
    """Open all of them.

    Args:
        config: the JobManager's settings.
        scopes: the values at the moment, for reporters that are asked.
        folder: where files go whose place is not said.

    Raises:
        ConfigError: a reporter that there is not, or settings that cannot be read.
        ExternalError: a port or a file is not to be had.
    """
    entries = metric_options.REPORTER.get(config)
    names = ScopeNames(
        {kind: option.get(config) for kind, option in FORMAT_OPTIONS.items()},
        metric_options.SCOPE_DELIMITER.get(config),
    )
    opened: list[ConfiguredReporter] = []
    try:
        for name in reporter_names(config):
            prefix = f"{name}."
            own = {k.removeprefix(prefix): v for k, v in entries.items() if k.startswith(prefix)}
            settings = ReporterSettings(name=name, entries=own, names=names)
            found = _opened(settings, scopes, folder)
            if found is not None:
                opened.append(found)
    except BaseException:
        for each in opened:
            each.reporter.close()
        raise
    return opened


def reporter_names(config: Mapping[str, str]) -> list[str]:
    """Which reporters are wanted: those listed, or, without a list, all that have a factory.

    >>> reporter_names({"metrics.reporters": "json, prom"})
    ['json', 'prom']
    """
    listed = metric_options.REPORTERS.get(config)
    if listed:
        return [name.strip() for text in listed for name in text.split(",") if name.strip()]
    ending = f".{_FACTORY}"
    entries = metric_options.REPORTER.get(config)
    return [key.removesuffix(ending) for key in entries if key.endswith(ending)]


def _opened(
    settings: ReporterSettings,
    scopes: Callable[[], Sequence[MetricScope]],
    folder: Path | None,
) -> ConfiguredReporter | None:
    factory = settings.text(_FACTORY, settings.name)
    settings.interval_ms  # noqa: B018  (refuses an interval that is none, before anything is opened)
    match _KINDS.get(factory.rpartition(".")[2].lower()):
        case "prometheus":
            return ConfiguredReporter(settings, PrometheusEndpoint.open(settings, scopes), True)  # noqa: FBT003
        case "json":
            return ConfiguredReporter(settings, JsonLines(settings, folder))
        case "opentelemetry":
            return ConfiguredReporter(settings, OpenTelemetry(settings))
    if factory.startswith(_FLINK):
        log.warning("metrics reporter is Flink's alone name=%s factory=%s", settings.name, factory)
        return None
    raise ConfigError(
        f"metrics reporter {settings.name!r}: there is none of the kind {factory!r}; set "
        f"{settings.key(_FACTORY)!r} to one of prometheus, json, opentelemetry"
    )
