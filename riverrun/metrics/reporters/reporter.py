"""What a reporter is, and what every reporter can be told."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from riverrun.core.config_options import parse_duration, parse_list, parse_map
from riverrun.core.errors import ConfigError
from riverrun.metrics.scope import MetricScope, ScopeNames

_INTERVAL: Final = "10 s"
_ANY: Final = "*"


class Reporter(Protocol):
    """Takes all metrics of the cluster every now and then."""

    def report(self, scopes: Sequence[MetricScope], at: int) -> None:
        """Pass on the values of ``at`` (milliseconds since the epoch); ExternalError when it cannot."""

    def close(self) -> None:
        """Release what it holds."""


@dataclass(frozen=True, slots=True)
class _Filter:
    """``<scope>:<name>[|<name>...]``, both with ``*``, as in Flink."""

    scope: str
    names: tuple[str, ...]

    @staticmethod
    def of(text: str) -> _Filter:
        scope, _, rest = text.partition(":")
        names = rest.partition(":")[0]
        return _Filter(scope or _ANY, tuple(names.split(",")) if names else (_ANY,))

    def covers(self, scope: MetricScope, name: str) -> bool:
        return fnmatch.fnmatchcase(scope.kind.value, self.scope) and any(
            fnmatch.fnmatchcase(name, each) for each in self.names
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReporterSettings:
    """The settings of one reporter: those below ``metrics.reporter.<name>.``."""

    name: str
    entries: Mapping[str, str] = field(default_factory=dict)
    names: ScopeNames = field(default_factory=ScopeNames)

    @property
    def interval_ms(self) -> int:
        """How often it reports."""
        text = self.entries.get("interval", _INTERVAL)
        try:
            return max(1, parse_duration(text).to_millis())
        except ValueError as e:
            raise ConfigError(
                f"option {self.key('interval')!r}: is {text!r}; expected a duration such as '10 s'"
            ) from e

    def key(self, entry: str) -> str:
        """The option that sets ``entry``."""
        return f"metrics.reporter.{self.name}.{entry}"

    def text(self, entry: str, default: str) -> str:
        """What ``entry`` is set to."""
        return self.entries.get(entry, default)

    def number(self, entry: str, default: int) -> int:
        """The whole number that ``entry`` is set to; ConfigError."""
        text = self.entries.get(entry, str(default))
        try:
            return int(text)
        except ValueError as e:
            raise ConfigError(
                f"option {self.key(entry)!r}: is {text!r}; expected a whole number"
            ) from e

    def wanted(self, scopes: Iterable[MetricScope]) -> list[MetricScope]:
        """The scopes as this reporter wants them: filtered, with its own variables."""
        includes = [_Filter.of(each) for each in self._list("filter.includes")] or [
            _Filter(_ANY, (_ANY,))
        ]
        excludes = [_Filter.of(each) for each in self._list("filter.excludes")]
        hidden = {name.strip("<>") for name in self._list("scope.variables.excludes")}
        added = parse_map(self.entries.get("scope.variables.additional", ""))

        def kept(scope: MetricScope, name: str) -> bool:
            return any(each.covers(scope, name) for each in includes) and not any(
                each.covers(scope, name) for each in excludes
            )

        found = []
        for scope in scopes:
            values = {name: value for name, value in scope.values.items() if kept(scope, name)}
            variables = {k: v for k, v in scope.variables.items() if k not in hidden} | added
            if values:
                found.append(replace(scope, values=values, variables=variables))
        return found

    def _list(self, entry: str) -> list[str]:
        text = self.entries.get(entry, "")
        return parse_list(text) if text else []
