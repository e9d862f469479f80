"""A server that speaks the protocol of Confluent's schema registry, as far as clients of it go."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

_REFUSED = 401, {"error_code": 401, "message": "Unauthorized"}


class SchemaRegistryServer:
    """Keeps schemas by id and subject; with ``user`` it wants these credentials."""

    def __init__(self, user: str | None = None) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        """Every request, in order."""
        self._lock = threading.Lock()
        self._wanted = None if user is None else f"Basic {b64encode(user.encode()).decode()}"
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._answer(self, None)

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", "0"))
                owner._answer(self, json.loads(self.rfile.read(size)))

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, body: Any) -> None:
        with self._lock:
            self.asked.append(f"{request.command} {request.path}")
            allowed = self._wanted in {None, request.headers.get("Authorization")}
            status, content = self._decide(request, body) if allowed else _REFUSED
        text = json.dumps(content).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def _decide(self, request: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        parts = [unquote(each) for each in urlsplit(request.path).path.split("/") if each]
        match (request.command, parts):
            case ("GET", ["subjects"]):
                return 200, sorted(self.subjects)
            case ("GET", ["schemas", "ids", number]) if int(number) in self.schemas:
                return 200, self.schemas[int(number)]
            case ("GET", ["schemas", "ids", _]):
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ("POST", ["subjects", subject, "versions"]):
                return self._register(subject, body)
            case ("GET", ["subjects", subject, "versions", "latest"]) if subject in self.subjects:
                last = self.subjects[subject][-1]
                return 200, {"subject": subject, "id": last, **self.schemas[last]}
        return 404, {"error_code": 40401, "message": "Subject not found"}

    def _register(self, subject: str, body: Any) -> tuple[int, Any]:
        try:
            json.loads(body["schema"])
        except ValueError:
            return 422, {"error_code": 42201, "message": "Invalid schema"}
        known = {entry["schema"]: number for number, entry in self.schemas.items()}
        number = known.get(body["schema"], len(self.schemas) + 1)
        self.schemas[number] = body
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return 200, {"id": number}
