from __future__ import annotations

import pytest

from riverrun.cluster.checkpoint_place import checkpoint_place
from riverrun.core.errors import ConfigError
from riverrun.core.ids import JobId
from riverrun.graph.executor import JobSubmission
from tests.unit.cluster.played_job import CHECKPOINTS, graph


def submission(**config: str) -> JobSubmission:
    options = {f"execution.checkpointing.{key}": value for key, value in config.items()}
    return JobSubmission(JobId.random(), "spend", graph(1), options)


@pytest.mark.parametrize("one_machine", [True, False])
def test_a_configured_folder_is_used_wherever_the_job_runs(one_machine: bool) -> None:
    for folder, root in (("s3://bucket/here/", "s3://bucket/here"), ("file:///here", "/here")):
        place = checkpoint_place(
            submission(interval="1 s", dir=folder, storage="filesystem"), one_machine=one_machine
        )

        assert place is not None
        assert (place.root, place.temporary) == (root, None)


@pytest.mark.parametrize("config", [{}, {"dir": "/here", "storage": "jobmanager"}])
def test_without_a_folder_there_is_a_temporary_one(config: dict[str, str]) -> None:
    place = checkpoint_place(submission(interval="1 s", **config), one_machine=True)

    assert place is not None
    assert place.temporary is not None
    assert place.root == str(place.temporary)
    assert place.temporary.is_dir()
    place.remove()
    assert not place.temporary.exists()


def test_a_job_on_several_machines_needs_a_folder_that_all_of_them_reach() -> None:
    with pytest.raises(ConfigError, match=r"'execution\.checkpointing\.dir': is not set; .* reach"):
        checkpoint_place(submission(interval="1 s"), one_machine=False)


def test_a_job_without_checkpoints_needs_no_place() -> None:
    assert checkpoint_place(submission(), one_machine=False) is None
    assert checkpoint_place(submission(dir="/here"), one_machine=False) is None


def test_settings_that_cannot_be_are_refused() -> None:
    assert "interval" in next(iter(CHECKPOINTS))
    with pytest.raises(ConfigError, match="at least 10 ms"):
        checkpoint_place(submission(interval="1 ms"), one_machine=True)
