"""``river run`` from a checkpoint, and the commands that show checkpoints and savepoints."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from riverrun.checkpoint.metadata import CheckpointMetadata, OperatorInfo, VertexInfo
from riverrun.checkpoint.savepoint_store import SavepointRefused, write_savepoint
from riverrun.checkpoint.store import CheckpointStore
from riverrun.cli.main import app
from riverrun.core.config_sources.variables import CONF_VARIABLE
from riverrun.storage.local import LocalStorage

WriteScript = Callable[..., Path]

JOB, OTHER = "a" * 32, "b" * 32
SHOW = f"import os\nprint(os.environ['{CONF_VARIABLE}'])"


def river(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_savepoint_in(root: Path, number: int) -> Path:
    """A savepoint without state; its folder."""
    folder = root / f"savepoint-aaaaaa-{number:012x}"
    metadata = CheckpointMetadata(
        checkpoint=number,
        job=JOB,
        job_name="spend",
        timestamp_ms=1_750_000_000_000 + number,
        vertices=(VertexInfo("v", "Source -> sum", 2, 128, (OperatorInfo("o", "sum", None),)),),
        subtasks=(),
        savepoint=True,
    )
    write_savepoint(LocalStorage(), str(folder), metadata, lambda _: b"")
    return folder


def write_checkpoint(root: Path, job: str, number: int, name: str = "spend") -> Path:
    """A complete checkpoint without state, as a JobMaster writes it; its folder."""
    store = CheckpointStore(LocalStorage(str(root)), str(root), job)
    store.claim()
    location, _ = store.write(
        CheckpointMetadata(
            checkpoint=number,
            job=job,
            job_name=name,
            timestamp_ms=1_750_000_000_000 + number,
            vertices=(VertexInfo("v", "Source -> sum", 2, 128, (OperatorInfo("o", "sum", None),)),),
            subtasks=(),
        )
    )
    return Path(location).parent


@pytest.fixture
def show(write_script: WriteScript) -> Path:
    """A script that prints the options it was given."""
    return write_script(SHOW)


def options_of(result: Result) -> dict[str, str]:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    given: dict[str, str] = json.loads(result.output)
    return given


class TestFromCheckpoint:
    @pytest.mark.parametrize("option", ["--from-checkpoint", "--fromSavepoint", "-s"])
    def test_the_checkpoint_reaches_the_program(
        self, option: str, show: Path, tmp_path: Path
    ) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)

        given = options_of(river("run", option, folder, show))

        assert given == {"execution.state-recovery.path": str(folder)}

    def test_a_relative_path_is_made_a_full_one(
        self, show: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)
        monkeypatch.chdir(tmp_path)

        given = options_of(river("run", "-s", f"{JOB}/chk-7/_metadata", show))

        assert given == {"execution.state-recovery.path": f"{folder}/_metadata"}

    def test_a_checkpoint_in_an_object_store_is_left_to_the_program(self, show: Path) -> None:
        given = options_of(river("run", "-s", "s3://bucket/job/chk-7", show))

        assert given == {"execution.state-recovery.path": "s3://bucket/job/chk-7"}

    def test_where_there_is_none_the_script_does_not_run(self, show: Path, tmp_path: Path) -> None:
        result = river("run", "-s", tmp_path / "nothing", show)

        assert result.output == ""
        assert "there is no checkpoint" in str(result.exception)

    def test_the_folder_of_a_job_is_answered_with_its_checkpoints(
        self, show: Path, tmp_path: Path
    ) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)

        result = river("run", "-s", folder.parent, show)

        assert f"give one of {[str(folder)]!r}" in str(result.exception)

    @pytest.mark.parametrize(
        "option", ["--allow-non-restored-state", "--allowNonRestoredState", "-n"]
    )
    def test_state_that_nobody_claims_may_be_left_out(self, option: str, show: Path) -> None:
        given = options_of(river("run", option, show))

        assert given == {"execution.state-recovery.ignore-unclaimed-state": "true"}


class TestFromSavepoint:
    def test_a_savepoint_is_started_from_like_a_checkpoint(
        self, show: Path, tmp_path: Path
    ) -> None:
        folder = write_savepoint_in(tmp_path, 3)

        given = options_of(river("run", "-s", folder, "--claimMode", "claim", show))

        assert given["execution.state-recovery.path"] == str(folder)
        assert given["execution.state-recovery.claim-mode"] == "claim"

    def test_another_claim_mode_is_refused(self, show: Path) -> None:
        result = river("run", "-cm", "mine", show)

        assert "execution.state-recovery.claim-mode" in str(result.exception)


class TestResume:
    def test_the_job_that_is_named_goes_on(self, show: Path) -> None:
        given = options_of(river("run", "--resume", "--job-id", JOB, show))

        assert given == {"riverrun.job-id": JOB, "riverrun.resume": "true"}

    def test_the_only_job_with_checkpoints_goes_on(self, show: Path, tmp_path: Path) -> None:
        write_checkpoint(tmp_path, JOB, 7)
        write_checkpoint(tmp_path, JOB, 8)

        given = options_of(
            river("run", "--resume", "-D", f"execution.checkpointing.dir={tmp_path}", show)
        )

        assert given["riverrun.job-id"] == JOB
        assert given["riverrun.resume"] == "true"

    def test_the_folder_may_come_from_the_surroundings(
        self, show: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_checkpoint(tmp_path, JOB, 7)
        config = {"execution.checkpointing.dir": str(tmp_path)}
        monkeypatch.setenv(CONF_VARIABLE, json.dumps(config))

        given = options_of(river("run", "--resume", show))

        assert given == {**config, "riverrun.job-id": JOB, "riverrun.resume": "true"}

    def test_several_jobs_are_told_apart(self, show: Path, tmp_path: Path) -> None:
        write_checkpoint(tmp_path, JOB, 7, "spend")
        write_checkpoint(tmp_path, OTHER, 3, "alerts")

        result = river("run", "--resume", "-D", f"execution.checkpointing.dir={tmp_path}", show)

        message = str(result.exception)
        assert message.startswith(f"--resume: 2 jobs have checkpoints in {str(tmp_path)!r}")
        assert f"--job-id {JOB}  'spend', checkpoint 7 of " in message
        assert f"--job-id {OTHER}  'alerts', checkpoint 3 of " in message

    def test_without_any_checkpoint_the_script_does_not_run(
        self, show: Path, tmp_path: Path
    ) -> None:
        result = river("run", "--resume", "-D", f"execution.checkpointing.dir={tmp_path}", show)

        assert result.output == ""
        assert "no job has a complete checkpoint" in str(result.exception)

    def test_without_job_and_folder_it_says_what_is_missing(self, show: Path) -> None:
        result = river("run", "--resume", show)

        assert str(result.exception) == (
            "--resume: says neither which job nor where its checkpoints are; add --job-id HEX, or "
            "-D execution.checkpointing.dir=FOLDER if only one job has checkpoints there"
        )

    def test_an_id_that_is_none_is_refused(self, show: Path) -> None:
        result = river("run", "--job-id", "spend", show)

        assert "riverrun.job-id" in str(result.exception)


class TestCheckpoints:
    def test_all_below_a_folder_are_listed_oldest_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        write_checkpoint(tmp_path, JOB, 8)
        write_checkpoint(tmp_path, JOB, 7)

        result = river("checkpoints", tmp_path)

        assert result.exit_code == 0
        _, first, second = result.output.splitlines()
        assert first.split()[0] == "7"
        assert second.split()[0] == "8"
        assert f"{JOB}/chk-8" in second
        assert "sum" in second

    def test_machines_get_them_too(self, tmp_path: Path) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)

        (found,) = json.loads(river("checkpoints", "--json", tmp_path).output)["checkpoints"]

        assert (found["id"], found["job_id"], found["path"]) == (7, JOB, str(folder))
        assert set(found) == {"id", "timestamp", "size", "job_id", "name", "path"}
        nothing = river("savepoints", "--json", tmp_path)
        assert (nothing.exit_code, json.loads(nothing.output)) == (1, {"savepoints": []})

    def test_one_may_be_named_itself(self, tmp_path: Path) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)
        write_checkpoint(tmp_path, JOB, 8)

        assert len(river("checkpoints", folder).output.splitlines()) == 2

    def test_none_is_a_failure(self, tmp_path: Path) -> None:
        result = river("checkpoints", tmp_path)

        assert result.exit_code == 1
        assert result.stderr == f"no complete checkpoint below {str(tmp_path)!r}\n"


class TestSavepoints:
    def test_savepoints_are_listed_apart_from_checkpoints(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        write_checkpoint(tmp_path, JOB, 7)
        folder = write_savepoint_in(tmp_path, 8)

        _, line = river("savepoints", tmp_path).output.splitlines()
        assert line.split()[0] == "8"
        assert folder.name in line
        _, line = river("checkpoints", tmp_path).output.splitlines()
        assert line.split()[0] == "7"

    def test_where_only_the_others_are_it_says_so(self, tmp_path: Path) -> None:
        write_checkpoint(tmp_path, JOB, 7)

        result = river("savepoints", tmp_path)

        assert result.exit_code == 1
        assert result.stderr == (
            f"no complete savepoint below {str(tmp_path)!r}; there are checkpoints: "
            f"river checkpoints {tmp_path}\n"
        )

    def test_a_savepoint_is_disposed_of(self, tmp_path: Path) -> None:
        folder = write_savepoint_in(tmp_path, 8)

        result = river("savepoint", "--dispose", folder)

        assert result.output == f"deleted savepoint 8 of job 'spend' in {folder}\n"
        assert not folder.exists()

    def test_a_checkpoint_is_not(self, tmp_path: Path) -> None:
        folder = write_checkpoint(tmp_path, JOB, 7)

        result = river("savepoint", "-d", folder)

        assert isinstance(result.exception, SavepointRefused)
        assert "is checkpoint 7 of job" in str(result.exception)
        assert (folder / "_metadata").exists()
