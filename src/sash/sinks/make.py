"""The kinds of sinks. What a kind needs is imported when there is one."""

from __future__ import annotations

from pathlib import Path

from sash.errors import SashError, choices, needing
from sash.sinks.files.writer import FilesSink
from sash.sinks.options import OPTIONS, SinkSpec
from sash.sinks.sink import Sink


def make_sink(kind: str, spec: SinkSpec, base: Path, run: str | None, epoch: int = 0) -> Sink:
    """A sink for a run: a process, or a checkpoint, of which `epoch` counts the drivers; None: only to be checked. Paths that are
    relative begin at `base`."""
    if kind == "POSTGRES":
        with needing("a sink in PostgreSQL", "psycopg", "postgres"):
            from sash.sinks.postgres.writer import PostgresSink
        return PostgresSink(spec, run, epoch)
    if kind == "MYSQL":
        with needing("a sink in MySQL", "pymysql", "mysql"):
            from sash.sinks.mysql.writer import MySqlSink
        return MySqlSink(spec, run, epoch)
    if kind == "KAFKA":
        with needing("a sink in Kafka", "confluent-kafka", "kafka"):
            from sash.sinks.kafka.writer import KafkaSink
        return KafkaSink(spec, run, epoch)
    if kind == "FILES":
        return FilesSink(spec, run, epoch, base)
    if kind == "DELTA":
        with needing("a sink in Delta", "deltalake", "delta"):
            from sash.sinks.delta.writer import DeltaSink
        return DeltaSink(spec, run, epoch, base)
    raise SashError(f"there is no sink of the kind {kind}", f"kinds are: {choices(OPTIONS)}")

