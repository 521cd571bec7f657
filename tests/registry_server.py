"""A schema registry of one's own, on a port of this machine: it serves what is put into it, on the paths of Confluent's."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Registry:
    """What it has, and what it was asked."""

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[tuple[str, int], int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    faults: list[tuple[int, bytes]] = field(default_factory=list)  # answers that it gives first: a status, and a body
    auth: str | None = None  # the header that it wants

    def put(self, number: int, schema: str, kind: str = "AVRO", references: list[dict[str, Any]] | None = None, subject: str | None = None) -> None:
        self.schemas[number] = {"schema": schema, "schemaType": kind} if kind != "AVRO" else {"schema": schema}
        if references:
            self.schemas[number]["references"] = references
        if subject is not None:
            self.subjects[subject, 1] = number

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.faults:
            return self.faults.pop(0)
        parts = urlsplit(path)
        words = [unquote(word) for word in parts.path.strip("/").split("/")]
        number: int | None = None
        if words[:2] == ["schemas", "ids"] and len(words) == 3:
            number = int(words[2])
        elif words[0] == "subjects" and len(words) == 4:
            number = self.subjects.get((words[1], int(words[3])))
        found = self.schemas.get(-1 if number is None else number)
        if found is None:
            return 404, json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
        if found.get("schemaType") == "PROTOBUF" and parse_qs(parts.query).get("format") != ["serialized"]:
            return 200, json.dumps({**found, "schema": 'syntax = "proto3";'}).encode()
        return 200, json.dumps(found).encode()


@contextmanager
def registry() -> Iterator[Registry]:
    served = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = served.auth is None or self.headers["Authorization"] == served.auth
            status, body = served.answer(self.path) if is_known else (401, b"{}")
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", body.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()


def framed(number: int, message: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + message


def basic(user: str) -> str:
    return f"Basic {base64.b64encode(user.encode()).decode()}"
