"""``river run``: scripts in this process, as Python would run them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from riverrun.cli.main import app
from riverrun.core.config_sources.variables import CONF_VARIABLE

WriteScript = Callable[..., Path]


def river(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def river_command(*arguments: object) -> list[str]:
    command = "from riverrun.cli.main import main; main()"
    return [sys.executable, "-c", command, *(str(argument) for argument in arguments)]


class TestScript:
    def test_the_script_runs_as_main_with_its_own_arguments(
        self, write_script: WriteScript
    ) -> None:
        script = write_script("import sys\nprint(__name__, sys.argv)")

        result = river("run", script, "a", "--master", "-p", "--", "x=1")

        assert result.output == f"__main__ {[str(script), 'a', '--master', '-p', '--', 'x=1']}\n"
        assert result.exit_code == 0

    def test_a_script_named_from_here_knows_its_whole_path_as_its_functions_do(
        self, write_script: WriteScript, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = write_script("def f(): pass\nprint(__file__, f.__code__.co_filename)")
        monkeypatch.chdir(script.parent)

        assert river("run", script.name).output == f"{script} {script}\n"

    def test_the_script_finds_the_modules_beside_it(self, write_script: WriteScript) -> None:
        write_script("value = 42", "beside_the_script.py")
        script = write_script(
            "import os, sys, beside_the_script\n"
            "print(beside_the_script.value, sys.path[0] == os.environ['PYTHONPATH'].split(':')[0])"
        )

        assert river("run", script).output == "42 True\n"

    def test_nothing_of_the_run_stays_in_the_process(self, write_script: WriteScript) -> None:
        script = write_script("import sys\nsys.path.append('gone')")
        before = (sys.argv, list(sys.path), dict(os.environ))

        river("run", "--master", "in-process", "-D", "pipeline.name=x", script)

        assert (sys.argv, list(sys.path), dict(os.environ)) == before

    def test_the_exit_code_is_the_scripts(self, write_script: WriteScript) -> None:
        assert river("run", write_script("import sys\nsys.exit(7)")).exit_code == 7

    def test_a_missing_script_is_a_wrong_use(self, tmp_path: Path) -> None:
        result = river("run", tmp_path / "missing.py")

        assert result.exit_code == 2
        assert "does not exist" in result.output


class TestSettings:
    def test_options_reach_the_script_in_the_variable_that_environments_read(
        self, write_script: WriteScript
    ) -> None:
        script = write_script(f"import os\nprint(os.environ['{CONF_VARIABLE}'])")

        result = river(
            "run", "--master", "in-process", "-p", 3, "-D", "pipeline.name=spend", script
        )

        assert json.loads(result.output) == {
            "riverrun.master": "in-process",
            "parallelism.default": "3",
            "pipeline.name": "spend",
        }

    def test_an_unknown_option_is_refused_before_the_script_runs(
        self, write_script: WriteScript
    ) -> None:
        script = write_script("print('ran')")

        completed = subprocess.run(
            river_command("run", "-D", "riverrun.mastr=x", script),
            capture_output=True,
            text=True,
            check=False,
        )

        assert completed.returncode == 2
        assert completed.stdout == ""
        assert completed.stderr == (
            "error: option 'riverrun.mastr': there is no such option; did you mean 'riverrun.master'?\n"
        )


FAILING_JOB = """
from riverrun.datastream.environment import StreamExecutionEnvironment

def invert(value):
    return 1 // value

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 0]).map(invert).print()
env.execute("doomed")
"""


class TestErrors:
    def test_a_failed_job_is_shown_with_the_users_traceback_and_nothing_of_riverrun(
        self, write_script: WriteScript
    ) -> None:
        result = river("run", "--master", "in-process", write_script(FAILING_JOB))

        assert result.exit_code == 1
        assert result.stderr.startswith("error: job 'doomed'")
        assert "in invert" in result.stderr
        assert "ZeroDivisionError" in result.stderr
        assert "riverrun/" not in result.stderr

    def test_an_error_in_the_program_names_the_line_of_the_script(
        self, write_script: WriteScript
    ) -> None:
        script = write_script(
            "from riverrun.datastream.environment import StreamExecutionEnvironment\n"
            "StreamExecutionEnvironment.get_execution_environment({'riverrun.mastr': 'x'})\n"
        )

        result = river("run", script)

        assert result.exit_code == 1
        assert result.stderr == (
            "error: option 'riverrun.mastr': there is no such option; did you mean 'riverrun.master'?\n"
            f"  at {script}:2 in <module>\n"
        )

    def test_an_error_of_the_script_shows_the_scripts_traceback_only(
        self, write_script: WriteScript
    ) -> None:
        script = write_script("def f():\n    raise ValueError('mine')\nf()\n")

        result = river("run", script)

        assert result.exit_code == 1
        files = [line for line in result.stderr.splitlines() if line.lstrip().startswith("File ")]
        assert files == [
            f'  File "{script}", line {line}' + end
            for line, end in [
                (3, ", in <module>"),
                (2, ", in f"),
            ]
        ]
        assert result.stderr.endswith("ValueError: mine\n")

    def test_a_script_that_is_not_python_is_shown_where_it_stops(
        self, write_script: WriteScript
    ) -> None:
        script = write_script("x = = 1\n")

        result = river("run", script)

        assert result.exit_code == 1
        assert f'File "{script}", line 1' in result.stderr
        assert "runpy" not in result.stderr

    def test_a_program_that_failed_is_not_told_that_it_was_never_run(
        self, write_script: WriteScript
    ) -> None:
        script = write_script(
            "from riverrun.datastream.environment import StreamExecutionEnvironment\n"
            "env = StreamExecutionEnvironment.get_execution_environment()\n"
            "env.from_collection([1]).print()\n"
            "raise ValueError('mine')\n"
        )

        completed = subprocess.run(
            river_command("run", script), capture_output=True, text=True, check=False
        )

        assert completed.stderr.endswith("ValueError: mine\n")


ENDLESS_JOB = """
import itertools
from riverrun.datastream.environment import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.add_source(itertools.count).print()
env.execute("endless")
"""


def _hear_interrupts() -> None:
    """A shell lets what it runs in the background ignore them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class TestInterrupt:
    def test_an_interrupt_cancels_the_job_and_ends_with_130(
        self, write_script: WriteScript
    ) -> None:
        command = river_command("run", "--master", "in-process", write_script(ENDLESS_JOB))
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509  (nothing else runs in this process)
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()

            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)

        assert process.returncode == 130
        assert errors == "interrupted\n"


WORD_COUNT = """
import argparse
import logging
import sys

from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.functions import FlatMapFunction, RuntimeContext

LINES = ["to be, or not to be,", "that is the question"]


class Words(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.marks = ",.;"

    def flat_map(self, line):
        for word in line.split():
            yield word.strip(self.marks)


def word_count(shout):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    env.add_jars("file:///opt/connector.jar")
    rows = env.from_collection(
        [(number, line) for number, line in enumerate(LINES)],
        type_info=Types.ROW([Types.INT(), Types.STRING()]),
    )

    def normal(word):
        return word.upper() if shout else word

    counts = (
        rows.map(lambda row: row[1], output_type=Types.STRING())
        .flat_map(Words(), output_type=Types.STRING())
        .map(
            lambda word: (normal(word), 1),
            output_type=Types.TUPLE([Types.STRING(), Types.INT()]),
        )
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
    counts.print()
    env.execute("word count")


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser()
    parser.add_argument("--shout", action="store_true")
    word_count(parser.parse_args().shout)
"""


class TestPyFlink:
    def test_a_pyflink_script_runs_unchanged(self, write_script: WriteScript) -> None:
        script = write_script(WORD_COUNT)

        completed = subprocess.run(
            river_command("run", "--pyflink", "--master", "in-process", script, "--shout"),
            capture_output=True,
            text=True,
            check=True,
        )

        assert sorted(completed.stdout.splitlines()) == [
            "(BE,2)",
            "(IS,1)",
            "(NOT,1)",
            "(OR,1)",
            "(QUESTION,1)",
            "(THAT,1)",
            "(THE,1)",
            "(TO,2)",
        ]
        assert "jars are not used" in completed.stderr

    def test_without_the_option_the_script_is_told_of_it(self, write_script: WriteScript) -> None:
        result = river("run", write_script("import pyflink"))

        assert result.exit_code == 1
        assert "No module named 'pyflink'" in result.stderr
        assert "hint: --pyflink" in result.stderr

    def test_what_is_not_there_yet_ends_the_script_with_the_reason(
        self, write_script: WriteScript
    ) -> None:
        script = write_script("from pyflink.table import TableEnvironment")

        result = river("run", "--pyflink", script)

        assert result.exit_code == 1
        assert result.stderr.endswith(
            "ImportError: pyflink.table.TableEnvironment: riverrun does not have it yet\n"
        )

    def test_processes_that_the_script_starts_import_pyflink_as_well(
        self, write_script: WriteScript
    ) -> None:
        script = write_script(
            "import subprocess, sys\n"
            "code = 'from pyflink.common import Row; import pyflink; print(Row.__module__)'\n"
            "print(subprocess.check_output([sys.executable, '-c', code], text=True))\n"
        )

        assert river("run", "--pyflink", script).output.strip() == "riverrun.serde.row"


@pytest.mark.parametrize("text", ["", "parallelism.default", "=3"])
def test_a_definition_without_key_or_value_is_refused(text: str, write_script: WriteScript) -> None:
    result = river("run", "-D", text, write_script(""))

    assert str(result.exception) == f"-D {text!r}: expected key=value"


def test_two_values_for_one_option_are_refused(write_script: WriteScript) -> None:
    result = river("run", "-p", 2, "-D", "parallelism.default=3", write_script(""))

    assert str(result.exception) == (
        "option 'parallelism.default': is given as '2' and as '3'; give it once"
    )


def test_the_master_variable_is_the_one_that_environments_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from riverrun.datastream.environment import StreamExecutionEnvironment  # noqa: PLC0415

    monkeypatch.setenv("RIVERRUN_MASTER", "in-process")

    env = StreamExecutionEnvironment.get_execution_environment()

    assert env.get_configuration()["riverrun.master"] == "in-process"
