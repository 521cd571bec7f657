"""Every test of sinks finds PostgreSQL empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # of which one may be installed without the other
    from mariadb_server import MariaDbServer
    from postgres_server import PostgresServer


@pytest.fixture
def server(postgres: PostgresServer) -> PostgresServer:
    postgres.clear()
    return postgres


@pytest.fixture
def shop(mariadb: MariaDbServer) -> MariaDbServer:
    mariadb.clear()
    return mariadb
