"""Requests to S3: signed as AWS does, tried again when that may help, and told apart when it does not."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from riverrun.connectors.files.output_s3_requests import S3Refused, S3Requests, canonical_query
from riverrun.core.errors import ConfigError
from riverrun.storage.s3_exclusive import S3Address
from riverrun.storage.s3_signing import S3Keys
from riverrun.storage.storage import StorageError

KEYS = S3Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
LATER = "<Error><Code>InternalError</Code></Error>"
NO_UPLOAD = "<Error><Code>NoSuchUpload</Code></Error>"


@pytest.mark.parametrize("session", [None, "token"])
@pytest.mark.parametrize(
    ("method", "key", "query", "body"),
    [
        ("POST", "folder/part 1+ü.txt", {"uploads": ""}, b""),
        ("PUT", "part-0", {"partNumber": "3", "uploadId": "a/b=c+d e"}, b"some bytes"),
        ("GET", "", {"uploads": "", "prefix": "a b/", "key-marker": "x&y"}, b""),
        ("DELETE", "a/b/c~d_e-f.g", {"uploadId": "1"}, b""),
    ],
)
def test_signatures_are_those_of_aws_own_client(
    method: str, key: str, query: dict[str, str], body: bytes, session: str | None
) -> None:
    keys = S3Keys(KEYS.access, KEYS.secret, session)
    address = S3Address(secure=True, host="bucket.s3.eu-west-1.amazonaws.com", in_host=True)
    now = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    requests = S3Requests(address, keys, "eu-west-1", now=lambda: now)
    path, asked = address.path_of(f"bucket/{key}"), canonical_query(query)
    ours = requests.headers(method, path, asked, body)

    theirs = AWSRequest(
        method, f"https://{address.host}{path}?{asked}", data=body, headers={"host": address.host}
    )
    theirs.context["timestamp"] = ours["x-amz-date"]
    theirs.headers["X-Amz-Date"] = ours["x-amz-date"]
    theirs.headers["X-Amz-Content-SHA256"] = ours["x-amz-content-sha256"]
    if session is not None:
        theirs.headers["X-Amz-Security-Token"] = session
    auth = S3SigV4Auth(Credentials(KEYS.access, KEYS.secret, session), "s3", "eu-west-1")
    text = auth.string_to_sign(theirs, auth.canonical_request(theirs))
    assert ours["Authorization"].endswith(f"Signature={auth.signature(text, theirs)}")


class Server:
    """Answers as the test says, one answer a request, the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = [(200, "")]
        self.asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = outer.answers[min(outer.asked, len(outer.answers) - 1)]
                outer.asked += 1
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.port = self._server.server_address[1]

    def put(self) -> Any:
        address = S3Address(secure=False, host=f"127.0.0.1:{self.port}", in_host=False)
        requests = S3Requests(address, KEYS, "here", attempts=3)
        try:
            return requests.send("PUT", "s3://bucket/a", body=b"x", operation="writing")
        finally:
            requests.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("time.sleep", lambda _: None)
    server = Server()
    yield server
    server.close()


AFTER_A_WHILE = '<?xml version="1.0"?>' + " " * 1000 + LATER


@pytest.mark.parametrize(
    "trouble",
    [(500, LATER), (503, ""), (200, LATER), (200, AFTER_A_WHILE), (0, ""), (429, "")],
)
def test_what_may_go_well_later_is_tried_again(server: Server, trouble: tuple[int, str]) -> None:
    server.answers = [trouble, trouble, (200, "fine")]
    assert server.put().body == b"fine"
    assert server.asked == 3


def test_a_refusal_has_the_stores_own_name_for_it(server: Server) -> None:
    server.answers = [(404, NO_UPLOAD)]
    with pytest.raises(S3Refused) as refused:
        server.put()
    assert refused.value.code == "NoSuchUpload"
    assert server.asked == 1


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("NoSuchBucket", "create it"),
        ("AccessDenied", "s3.access-key"),
        ("SignatureDoesNotMatch", "s3.secret-key"),
    ],
)
def test_refusals_say_what_to_do(server: Server, code: str, advice: str) -> None:
    server.answers = [(403, f"<Error><Code>{code}</Code></Error>")]
    with pytest.raises(S3Refused, match=advice):
        server.put()


def test_of_a_refusal_only_the_message_is_told(server: Server) -> None:
    server.answers = [
        (403, f"<Error><Code>X</Code><Message>no</Message><Id>{KEYS.access}</Id></Error>")
    ]
    with pytest.raises(S3Refused, match=r"it said X: no$"):
        server.put()


def test_a_store_that_stays_away_is_an_error_in_the_end(server: Server) -> None:
    server.answers = [(0, "")]
    with pytest.raises(StorageError, match="did not answer"):
        server.put()
    assert server.asked == 3


def test_without_keys_the_sink_says_so_when_the_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="a file sink there needs the keys"):
        S3Requests.to("s3://bucket/out", {})
