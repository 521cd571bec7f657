"""One PostgreSQL for all tests of sinks; each finds it empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def running_server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def server(running_server: PostgresServer) -> PostgresServer:
    running_server.clear()
    return running_server
