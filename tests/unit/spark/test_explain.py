"""Spark's messages are told in words."""

from __future__ import annotations

import pytest

from riverrun.spark.driver.explain import explain

_LOST = (
    "Job aborted due to stage failure: Task 1 in stage 5.0 failed 1 times, most recent failure: "
    "Lost task 1.0 in stage 5.0 (TID 10) (node7 executor 2): "
)
_STACK = (
    "\n\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:1)"
    "\n\tat java.base/java.lang.Thread.run(Unknown Source)\n\nDriver stacktrace:"
)


def test_a_lost_executor_is_named_with_its_host_and_the_reason() -> None:
    message = (
        f"{_LOST}ExecutorLostFailure (executor 2 exited caused by one of the running tasks) "
        f"Reason: Command exited with code 137{_STACK}"
    )

    assert explain(message) == "executor 2 on node7 was lost: Command exited with code 137"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            (
                "io.netty.channel.unix.Errors$NativeIoException: "
                "send(..) failed with error(-104): Connection reset by peer"
            ),
            "Connection reset by peer",
        ),
        ("java.io.IOException: Broken pipe", "Broken pipe"),
        (
            "java.io.IOException: Connection from /10.0.0.7:4040 closed",
            "Connection from /10.0.0.7:4040 closed",
        ),
        (
            "java.io.IOException: Failed to connect to node8/10.0.0.8:4040",
            "Failed to connect to node8/10.0.0.8:4040",
        ),
    ],
)
def test_a_survivor_that_spoke_first_says_that_its_neighbour_is_gone(
    said: str, reason: str
) -> None:
    assert (
        explain(f"{_LOST}{said}{_STACK}")
        == f"the connection from node7 to another executor was lost: {reason}"
    )


def test_of_a_python_traceback_the_exception_is_left() -> None:
    message = (
        f"{_LOST}org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        f'  File "worker.py", line 1, in main\n    process()\n'
        f"riverrun.spark.worker.control_client.JobMasterGone: no JobMaster at ('h', 1)\n{_STACK}"
    )

    assert explain(message) == "on node7: no JobMaster at ('h', 1)"


def test_a_message_of_another_form_keeps_its_first_line() -> None:
    assert (
        explain(f"org.apache.spark.SparkException: Job 3 cancelled by user{_STACK}")
        == "Job 3 cancelled by user"
    )


def test_nothing_said_is_said() -> None:
    assert explain("") == "nothing was said"
