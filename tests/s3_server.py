"""A server that speaks S3, on a port of this machine: moto's, whose requests are taken one after the other, as S3's own seem to be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
REGION = "eu-central-1"
BUCKET = "sash-tests"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True)
class S3Server:
    """Where it listens, and what it was asked."""

    address: str
    requests: list[tuple[str, str, str]]  # method, path, condition

    @property
    def options(self) -> str:
        """What a URI says of it."""
        return f"?region={REGION}&scheme=http&endpoint_override={quote(self.address)}"

    def uri(self, path: str) -> str:
        return f"s3://{BUCKET}/{path}{self.options}"


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """With a bucket of its own; the keys must be in the environment."""
    serving = pytest.importorskip("werkzeug.serving", reason="moto[server] is not installed, which plays S3")
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed, which plays S3")
    requests: list[tuple[str, str, str]] = []
    application = _in_turn(moto.DomainDispatcherApplication(moto.create_backend_app), requests)
    quiet = type("Quiet", (serving.WSGIRequestHandler,), {"log": lambda *_: None})
    server = serving.make_server("127.0.0.1", 0, application, threaded=True, request_handler=quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        made = S3Server(f"127.0.0.1:{server.server_port}", requests)
        _make_bucket(made)
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _in_turn(application: Application, requests: list[tuple[str, str, str]]) -> Application:
    lock = threading.Lock()

    def asked(environment: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            condition = environment.get("HTTP_IF_NONE_MATCH", "")
            requests.append((environment["REQUEST_METHOD"], environment["PATH_INFO"], condition))
            return list(application(environment, respond))

    return asked


def _make_bucket(server: S3Server) -> None:
    from pyarrow import fs

    system, _ = fs.FileSystem.from_uri(f"s3://{BUCKET}{server.options}&allow_bucket_creation=true")
    system.create_dir(BUCKET)
