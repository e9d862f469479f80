"""``--ui``: the page of the jobs is served and opened, here or at a JobManager."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from riverrun.ui.opening import open_page
from tests.unit.cli.conftest import MakeCluster, River
from tests.unit.cli.test_run_elsewhere import _PROGRAM, Taken

WriteScript = Callable[..., Path]
_SETTINGS = """
import json
from riverrun.datastream.environment import StreamExecutionEnvironment
settings = StreamExecutionEnvironment.get_execution_environment().get_configuration().to_dict()
print(json.dumps(settings))
"""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was asked for."""
    pages: list[str] = []

    def take(url: str) -> bool:
        pages.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", take)
    monkeypatch.setenv("DISPLAY", ":0")
    return pages


def test_a_job_that_runs_here_is_served_where_a_port_is_free(
    river: River, write_script: WriteScript
) -> None:
    settings = json.loads(river("run", "--ui", write_script(_SETTINGS)).out)

    assert settings["riverrun.rest.enabled"] == "true"
    assert settings["riverrun.rest.open-page"] == "true"
    assert settings["rest.bind-port"] == "8081-8180,0"


def test_a_port_that_was_chosen_stays(river: River, write_script: WriteScript) -> None:
    said = river("run", "--ui", "-D", "rest.port=9000", write_script(_SETTINGS))

    settings = json.loads(said.out)
    assert "rest.bind-port" not in settings
    assert settings["rest.port"] == "9000"


def test_without_a_job_manager_there_is_no_page(river: River, write_script: WriteScript) -> None:
    said = river("run", "--ui", "--master", "in-process", write_script("print('ran')"))

    assert (said.code, said.out) == (2, "")
    assert "no JobManager that could serve" in " ".join(said.err.replace("│", " ").split())


def test_the_page_of_a_job_at_a_job_manager_is_opened(
    river: River,
    make_cluster: MakeCluster,
    write_script: WriteScript,
    tmp_path: Path,
    opened: list[str],
) -> None:
    taken = Taken(tmp_path / "artifacts")
    taken.cluster = make_cluster(submissions=taken)

    said = river("run", "-d", "--ui", "-m", taken.cluster.place, write_script(_PROGRAM))

    page = f"{taken.cluster.url}/#/jobs/{taken.requests[0].job}"
    assert opened == [page]
    assert f"Web page: {page}" in said.err


def test_where_nobody_could_see_it_no_browser_is_started(opened: list[str]) -> None:
    assert not open_page("http://localhost:8081", {})
    assert opened == []
    assert open_page("http://localhost:8081", {"BROWSER": "firefox"})
    assert opened == ["http://localhost:8081"]
