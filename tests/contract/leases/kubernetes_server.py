"""An API server that knows Leases only, with Kubernetes' rules for who may replace what."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "the pod's token"


class Handler(BaseHTTPRequestHandler):
    server: KubernetesServer

    def do_GET(self) -> None:
        self._answer(*self._found())

    def do_POST(self) -> None:
        body = self._body()
        with self.server.lock:
            name = body["metadata"]["name"]
            if not self._is_known():
                self._answer(*status(401, "Unauthorized", "Unauthorized"))
            elif (self.path, name) in self.server.leases:
                said = f'leases.coordination.k8s.io "{name}" already exists'
                self._answer(*status(409, "AlreadyExists", said))
            elif body["metadata"].get("resourceVersion"):
                said = "resourceVersion should not be set on objects to be created"
                self._answer(*status(500, "InternalError", said))
            else:
                body["metadata"]["uid"] = str(uuid.uuid4())
                self._answer(201, self.server.keep(self.path, body))

    def do_PUT(self) -> None:
        body = self._body()
        with self.server.lock:
            code, there = self._found()
            if code != 200:
                self._answer(code, there)
            elif any(
                body["metadata"].get(part) not in (None, "", there["metadata"][part])
                for part in ("uid", "resourceVersion")
            ):
                said = (
                    "the object has been modified; please apply your changes to the latest version"
                )
                self._answer(*status(409, "Conflict", said))
            else:
                body["metadata"]["uid"] = there["metadata"]["uid"]
                self._answer(200, self.server.keep(self.path.rpartition("/")[0], body))

    def _is_known(self) -> bool:
        return self.headers["Authorization"] == f"Bearer {TOKEN}"

    def _found(self) -> tuple[int, Any]:
        if not self._is_known():
            return status(401, "Unauthorized", "Unauthorized")
        folder, _, name = self.path.rpartition("/")
        lease = self.server.leases.get((folder, name))
        if lease is None:
            return status(404, "NotFound", f'leases.coordination.k8s.io "{name}" not found')
        return 200, lease

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, code: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


class KubernetesServer(ThreadingHTTPServer):
    """Serves from a thread of its own until it is closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.leases: dict[tuple[str, str], Any] = {}
        self.lock = threading.RLock()
        self._versions = itertools.count(1000)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def keep(self, folder: str, lease: Any) -> Any:
        lease["metadata"]["resourceVersion"] = str(next(self._versions))
        self.leases[folder, lease["metadata"]["name"]] = lease
        return lease

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


def status(code: int, reason: str, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "code": code, "reason": reason, "message": message}
