from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from riverrun.core.errors import CheckpointFailed
from riverrun.rest.java_throwable import serialized_throwable
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB

WORDS = "no space \u2014 \U0001f600 left\0"
# A class of the same name and form as Flink's: Java refuses any difference in name, version or fields.
_CLASS = """
package org.apache.flink.util;
public class SerializedThrowable extends Exception {
    private static final long serialVersionUID = 7284183123441947635L;
    private byte[] serializedException;
    private String originalErrorClassName;
    private String fullStringifiedStackTrace;
    public static void main(String[] arguments) throws Exception {
        var in = new java.io.ObjectInputStream(System.in);
        var read = (SerializedThrowable) in.readObject();
        var out = new java.io.PrintStream(System.out, true, "UTF-8");
        out.print(read.originalErrorClassName + "|" + read.getMessage() + "|");
        out.print(read.fullStringifiedStackTrace.length() + "|" + read.getCause());
    }
}
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java here")
def test_java_reads_it(tmp_path: Path) -> None:
    source = tmp_path / "SerializedThrowable.java"
    source.write_text(_CLASS)
    data = serialized_throwable("CheckpointFailed", WORDS, "trace " * 20_000)

    ended = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", str(source)],
        input=data,
        capture_output=True,
        check=False,
    )

    assert ended.stdout.decode() == f"CheckpointFailed|{WORDS}|120000|null", ended.stderr.decode()


def test_a_failed_savepoint_carries_it(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    trigger = client.post(f"/jobs/{JOB}/savepoints", json={}).json()["request-id"]
    dispatcher.outcome.set_exception(CheckpointFailed("no space left"))

    answer = client.get(f"/jobs/{JOB}/savepoints/{trigger}").json()

    given = base64.b64decode(answer["operation"]["failure-cause"]["serialized-throwable"])
    assert given.startswith(b"\xac\xed\x00\x05")
    assert b"no space left" in given
