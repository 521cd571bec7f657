"""Every test of sinks finds PostgreSQL empty."""

from __future__ import annotations

import pytest

from postgres_server import PostgresServer


@pytest.fixture
def server(postgres: PostgresServer) -> PostgresServer:
    postgres.clear()
    return postgres
