"""Watermark alignment: how far each source of a group may go, decided from what all of them report.

A source may be ahead of the slowest of its group by its drift. A subtask that has not reported, is idle
or has ended keeps nobody back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from riverrun.api.watermark_strategy import WatermarkAlignment
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.deployment import Deployment, TaskDeployment
from riverrun.graph.sealed import alignment_of
from riverrun.protocol.control import WatermarkAllowed
from riverrun.protocol.elements import MAX_WATERMARK

_UNLIMITED: Final = MAX_WATERMARK


class Announcement(NamedTuple):
    """What these tasks have to be told."""

    tasks: tuple[SubtaskId, ...]
    message: WatermarkAllowed


@dataclass(slots=True)
class _Source:
    """A vertex that reads an aligned source."""

    alignment: WatermarkAlignment
    tasks: tuple[SubtaskId, ...]
    allowed: int = _UNLIMITED
    """What was announced last."""
    next: float = 0.0
    """When the next announcement may be made."""
    stale: bool = False
    """Whether the group reported something since the last look."""


class WatermarkAlignmentCoordinator:
    """Facts in (``reported``), announcements out (``look``); serves one attempt of a job.

    >>> one, two = (SubtaskId(VertexId(name), 0) for name in ("one", "two"))
    >>> close = WatermarkAlignment("group", max_drift_ms=10)
    >>> coordinator = WatermarkAlignmentCoordinator({one: close, two: close})
    >>> coordinator.reported(one, 5)
    >>> coordinator.reported(two, 90)
    >>> [each.message.watermark for each in coordinator.look(now=0.0)]
    [15, 15]
    """

    def __init__(self, aligned: Mapping[SubtaskId, WatermarkAlignment]) -> None:
        self._sources: dict[VertexId, _Source] = {}
        for task, alignment in aligned.items():
            source = self._sources.setdefault(task.vertex, _Source(alignment, ()))
            source.tasks += (task,)
        self._reported: dict[SubtaskId, int] = {}
        self._groups: dict[str, list[_Source]] = {}
        for source in self._sources.values():
            self._groups.setdefault(source.alignment.group, []).append(source)

    @staticmethod
    def of(layers: Iterable[Iterable[Deployment]]) -> WatermarkAlignmentCoordinator:
        """The coordinator for the sources among these tasks."""
        return WatermarkAlignmentCoordinator(
            {
                SubtaskId(task.vertex, task.subtask): alignment
                for layer in layers
                for task in layer
                if isinstance(task, TaskDeployment)
                and (alignment := _alignment_of(task)) is not None
            }
        )

    def reported(self, task: SubtaskId | None, watermark: int | None) -> None:
        """``task`` is at ``watermark`` (``None``: it does not count). Relays are no tasks, and unheard."""
        source = None if task is None else self._sources.get(task.vertex)
        if source is None or task is None:
            return
        if watermark is None:
            self._reported.pop(task, None)
        else:
            self._reported[task] = watermark
        for each in self._groups[source.alignment.group]:
            each.stale = True

    def deadline(self) -> float | None:
        """When ``look`` is due; ``None``: not before somebody reports."""
        return min((each.next for each in self._sources.values() if each.stale), default=None)

    def look(self, now: float) -> list[Announcement]:
        """What is to be announced now."""
        announcements = []
        for source in self._sources.values():
            if not source.stale or source.next > now:
                continue
            source.stale = False
            source.next = now + source.alignment.update_interval_ms
            allowed = self._allowed(source.alignment)
            if allowed != source.allowed:
                source.allowed = allowed
                announcements.append(Announcement(source.tasks, WatermarkAllowed(allowed)))
        return announcements

    def _allowed(self, alignment: WatermarkAlignment) -> int:
        slowest = min(
            (
                self._reported[task]
                for source in self._groups[alignment.group]
                for task in source.tasks
                if task in self._reported
            ),
            default=_UNLIMITED,
        )
        return min(slowest + alignment.max_drift_ms, _UNLIMITED)


def _alignment_of(task: TaskDeployment) -> WatermarkAlignment | None:
    return alignment_of(task.operators[0]) if task.operators else None
