"""Deployments for every attempt, each subtask with its own copy of the user's functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from riverrun.core.ids import Attempt, JobId, SubtaskId
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import Deployment, TaskDeployment
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.layers import plan_layers
from riverrun.graph.pickling import check_picklable, dumps, loads
from riverrun.protocol.snapshots import TaskRestore


class ProgramCopies:
    """A compiled program that can be deployed again and again; pickled once.

    Raises NotPicklable when the program could not be sent to workers.
    """

    def __init__(self, graph: JobGraph) -> None:
        check_picklable(graph)
        self.graph = graph
        self._plan = plan_layers(graph)
        self._pickled: dict[tuple[int, int], bytes] = {}

    def deploy(
        self,
        job: JobId,
        name: str,
        attempt: Attempt,
        config: Mapping[str, str],
        *,
        restore: Mapping[SubtaskId, TaskRestore],
        checkpoint_folder: str | None,
    ) -> list[list[Deployment]]:
        """What to run, by layer and partition; see ``graph.deploy.deployments``."""
        layers = deployments(
            self.graph,
            self._plan,
            job=job,
            name=name,
            attempt=attempt,
            config=config,
            restore=restore,
            checkpoint_folder=checkpoint_folder,
        )
        return [[self._copy(deployment) for deployment in layer] for layer in layers]

    def _copy(self, deployment: Deployment) -> Deployment:
        if not isinstance(deployment, TaskDeployment):
            return deployment
        place = (deployment.layer, deployment.partition)
        data = self._pickled.get(place)
        if data is None:
            # All that holds code of the user; in one piece, so that what is shared stays shared.
            data = dumps((deployment.operators, deployment.inputs, deployment.outputs))
            self._pickled[place] = data
        parts: tuple[Any, Any, Any] = loads(data)
        operators, inputs, outputs = parts
        return replace(deployment, operators=operators, inputs=inputs, outputs=outputs)
