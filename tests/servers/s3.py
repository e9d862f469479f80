"""An S3-compatible store in a process of its own: clients may hold Python's lock while they wait for it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyarrow import fs as arrow_fs

_SERVE = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


class S3Process:
    """A running store with one bucket."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        arrow_fs.S3FileSystem(
            access_key="me",
            secret_key="secret",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{port}",
            allow_bucket_creation=True,
        ).create_dir(self.bucket)

    def config(self) -> Mapping[str, str]:
        """The options of a job that uses it."""
        return {
            "s3.endpoint": f"http://127.0.0.1:{self.port}",
            "s3.access-key": "me",
            "s3.secret-key": "secret",
            "s3.path.style.access": "true",
            "s3.region": "us-east-1",
            "riverrun.s3.connect-timeout": "2 s",
            "riverrun.s3.request-timeout": "5 s",
            "riverrun.s3.attempts": "2",
        }


@contextmanager
def s3_process() -> Iterator[S3Process]:
    """A store until the block ends; it goes away with this process too."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield S3Process(int(server.stdout.readline()))
        finally:
            server.kill()
