"""``river run`` with a JobManager: where jobs go, what is said about them, and Flink's options for Python."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from tests.unit.cli.conftest import Cluster, MakeCluster, River

WriteScript = Callable[..., Path]

_PROGRAM = """
from riverrun.datastream.environment import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).map(lambda v: v * 2).print()
result = env.execute("doubles")
print("id", result.get_job_id())
env.close()
"""


class Taken:
    """Satisfies ``Submissions``: keeps what is sent; jobs are over at once."""

    def __init__(self, folder: Path) -> None:
        self.artifacts = ArtifactStore(folder, 1 << 20)
        self.requests: list[SubmitRequest] = []
        self.cluster: Cluster | None = None

    def submit(self, request: SubmitRequest) -> JobId:
        assert self.cluster is not None
        self.requests.append(request)
        self.cluster.dispatcher.add(request.job, request.name, JobStatus.FINISHED)
        return JobId(request.job)

    def values(self, job: JobId) -> ClientValues:
        values = ClientValues(1024, 1000.0, lambda *_: None)
        values.end()
        return values


@pytest.fixture
def taken(tmp_path: Path) -> Taken:
    return Taken(tmp_path / "artifacts")


@pytest.fixture
def session(make_cluster: MakeCluster, taken: Taken) -> Cluster:
    taken.cluster = make_cluster(submissions=taken)
    return taken.cluster


class TestWhere:
    def test_a_job_is_sent_to_the_job_manager_and_its_id_is_printed(
        self, river: River, session: Cluster, taken: Taken, write_script: WriteScript
    ) -> None:
        said = river("run", "-m", session.place, "-p", 2, write_script(_PROGRAM))

        (request,) = taken.requests
        assert said.code == 0
        assert said.out == (f"Job has been submitted with JobID {request.job}\nid {request.job}\n")
        assert (request.name, request.attached) == ("doubles", True)
        assert request.config["parallelism.default"] == "2"

    def test_detached_the_program_does_not_wait(
        self, river: River, session: Cluster, taken: Taken, write_script: WriteScript
    ) -> None:
        said = river("run", "-d", "-m", session.url, write_script(_PROGRAM))

        (request,) = taken.requests
        assert said.code == 0
        assert f"Job has been submitted with JobID {request.job}" in said.out
        assert not request.attached

    def test_machines_get_the_id(
        self, river: River, session: Cluster, taken: Taken, write_script: WriteScript
    ) -> None:
        script = write_script(_PROGRAM.replace('print("id", ', "str("))

        said = river("run", "-d", "--json", "-m", session.place, script)

        assert said.json == {"job_id": taken.requests[0].job, "name": "doubles"}

    def test_a_savepoint_to_start_from_may_be_on_another_machine(
        self, river: River, session: Cluster, taken: Taken, write_script: WriteScript
    ) -> None:
        flags = ("-s", "/only/there/savepoint-1", "-n")

        river("run", "-d", "-m", session.place, *flags, write_script(_PROGRAM))

        (request,) = taken.requests
        assert request.restore_from == "/only/there/savepoint-1"
        assert request.allow_non_restored

    def test_without_a_job_manager_nothing_can_be_left_behind(
        self, river: River, write_script: WriteScript
    ) -> None:
        said = river("run", "-d", write_script("print('ran')"))

        assert (said.code, said.out) == (3, "")
        assert "river cluster start" in said.err

    def test_a_job_manager_that_does_not_answer_has_a_code_of_its_own(
        self, river: River, make_cluster: MakeCluster, write_script: WriteScript
    ) -> None:
        gone = make_cluster()
        place = gone.place
        gone.server.close()

        said = river("run", "-m", place, write_script(_PROGRAM))

        assert said.code == 3
        assert "does not answer" in said.err

    @pytest.mark.parametrize(
        "flags", [("-m", "localhost:1", "--master", "local"), ("-d", "--master", "local[2]")]
    )
    def test_two_places_are_a_wrong_use(
        self, river: River, write_script: WriteScript, flags: tuple[str, ...]
    ) -> None:
        said = river("run", *flags, write_script("print('ran')"))

        assert (said.code, said.out) == (2, "")


class TestProgram:
    def test_the_script_can_be_named_as_for_flink(
        self, river: River, write_script: WriteScript
    ) -> None:
        script = write_script("import sys\nprint(sys.argv[1:])")

        assert river("run", "-py", script, "a", "-p", "b").out == "['a', '-p', 'b']\n"

    def test_a_module_is_run_as_python_would(
        self, river: River, tmp_path: Path, write_script: WriteScript
    ) -> None:
        write_script("import sys\nprint(__name__, sys.argv[1:])", "mine.py")

        assert river("run", "-pyfs", tmp_path, "-pym", "mine", "x").out == "__main__ ['x']\n"

    @pytest.mark.parametrize(
        "arguments", [(), ("-pym", "a", "-py", __file__), ("-py", "/no/such.py"), ("/no/such.py",)]
    )
    def test_no_program_or_two_are_a_wrong_use(
        self, river: River, arguments: tuple[str, ...]
    ) -> None:
        assert river("run", *arguments).code == 2

    def test_files_are_imported_by_the_program_and_named_to_its_jobs(
        self, river: River, tmp_path: Path, write_script: WriteScript
    ) -> None:
        folder = tmp_path / "lib"
        folder.mkdir()
        (folder / "first_of_lib.py").write_text("value = 1")
        with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
            archive.writestr("second_of_zip.py", "value = 2")
        script = write_script(
            "import json, os, first_of_lib, second_of_zip\n"
            "print(first_of_lib.value, second_of_zip.value)\n"
            "print(json.loads(os.environ['RIVERRUN_CONF'])['python.files'])\n"
        )
        files = f"{folder / 'first_of_lib.py'},{tmp_path / 'more.zip'}"

        said = river("run", "-pyfs", files, script)

        assert said.out == f"1 2\n{files}\n"

    def test_other_needs_become_options(
        self, river: River, tmp_path: Path, write_script: WriteScript
    ) -> None:
        (tmp_path / "venv.zip").touch()
        script = write_script(
            "import json, os\n"
            "conf = json.loads(os.environ['RIVERRUN_CONF'])\n"
            "print(conf['python.archives'], conf['python.executable'])\n"
        )
        archives = f"{tmp_path / 'venv.zip'}#venv"

        said = river("run", "-pyarch", archives, "-pyexec", "venv/bin/python", script)

        assert said.out == f"{archives} venv/bin/python\n"

    @pytest.mark.parametrize("option", ["-pyfs", "-pyarch", "-pyreq"])
    def test_a_file_that_is_not_there_is_a_wrong_use(
        self, river: River, write_script: WriteScript, option: str
    ) -> None:
        said = river("run", option, "/no/such/file", write_script("print('ran')"))

        assert (said.code, said.out) == (2, "")
