"""One Spark session for all tests of the host, with retries of tasks as on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="session")
def spark(faults: Path) -> Iterator[object]:
    from sash.spark.session import local_session

    os.environ["SASH_TEST_FAULTS"] = str(faults)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    session = local_session("2,3")
    yield session
    session.stop()
