"""A Kafka broker of one's own, on ports of this machine, and Spark's connector to it; the jars come from Maven's repositories.

They are fetched once, into a folder in the user's cache (SASH_TEST_CACHE, or ~/.cache/sash-tests). Where there is no Maven, no Java or
no network, tests that ask for them are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

BROKER = ("org.apache.kafka:kafka_2.13:4.1.1", "org.apache.kafka:kafka-tools:4.1.1")
# Each without what it depends on: Spark brings the rest. The token provider is published beside the connector, some versions behind.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
FETCHING = 300  # seconds
STARTING = 60
OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1")  # a broker that lives for a minute starts sooner so


def jars(kind: str, artifacts: Sequence[str], *, with_dependencies: bool) -> Path:
    """The folder of these artifacts."""
    cache = Path(os.environ.get("SASH_TEST_CACHE") or Path.home() / ".cache/sash-tests")
    folder = cache / f"{kind}-{uuid.uuid5(uuid.NAMESPACE_URL, ' '.join(artifacts)).hex[:12]}"
    if folder.is_dir():
        return folder
    partial = cache / f".{folder.name}.{os.getpid()}"
    partial.mkdir(parents=True)
    try:
        _fetch(partial, artifacts, with_dependencies=with_dependencies)
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another test was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _fetch(folder: Path, artifacts: Sequence[str], *, with_dependencies: bool) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("Maven (mvn) is not installed, which fetches Kafka")
    (folder / "pom.xml").write_text(_project(artifacts, "" if with_dependencies else ALONE))
    command = [maven, "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCHING)
    except subprocess.TimeoutExpired:
        pytest.skip(f"Maven did not fetch Kafka within {FETCHING} seconds")
    if done.returncode:
        pytest.skip(f"Maven could not fetch Kafka: {(done.stdout + done.stderr).strip()[:300]}")


def _project(artifacts: Sequence[str], also: str) -> str:
    names = ("groupId", "artifactId", "version")
    listed = "".join(
        "<dependency>" + "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, artifact.split(":"), strict=True))
        + f"{also}</dependency>" for artifact in artifacts
    )  # fmt: skip
    own = "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, ("sash", "tests", "1"), strict=True))
    return f"<project><modelVersion>4.0.0</modelVersion>{own}<dependencies>{listed}</dependencies></project>"


def connector() -> str:
    """The jars that Spark needs to read Kafka, as `spark.jars` wants them."""
    return ",".join(str(path) for path in sorted(jars("connector", CONNECTOR, with_dependencies=False).glob("*.jar")))


@dataclass(frozen=True)
class Broker:
    """One that runs."""

    address: str

    def create_topic(self, name: str, partitions: int) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address})  # what it was asked for ends with it
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(STARTING)


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker, with its files in a folder."""
    libraries = jars("broker", BROKER, with_dependencies=True)
    port, controller = _free_ports(2)
    settings = {
        "process.roles": "broker,controller", "node.id": "1", "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "logs"), "offsets.topic.replication.factor": "1", "num.partitions": "1",
        "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4",
    }  # fmt: skip
    file = _written(folder, settings)
    formatted = [*_java(libraries), "kafka.tools.StorageTool", "format", "--standalone", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file)]
    done = subprocess.run(formatted, capture_output=True, text=True, timeout=STARTING)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(folder / "broker.log", "wb") as log:
        process = subprocess.Popen([*_java(libraries), "kafka.Kafka", str(file)], stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "broker.log")
        yield Broker(f"127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def _java(libraries: Path) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None or not Path(java).exists():
        pytest.skip("Java is not installed, which Kafka runs on")
    return [java, *OPTIONS, "-cp", f"{libraries}/*"]


def _written(folder: Path, settings: Mapping[str, str]) -> Path:
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


def _free_ports(count: int) -> list[int]:
    doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [door.getsockname()[1] for door in doors]
    for door in doors:
        door.close()
    return ports


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + STARTING
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()[-2000:]
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the broker did not start within {STARTING} seconds: {log.read_text()[-2000:]}")
