"""The kinds of sinks. What a kind needs is imported when there is one."""

from __future__ import annotations

from sash.errors import SashError
from sash.sinks.options import SinkSpec
from sash.sinks.sink import Sink


def make_sink(kind: str, spec: SinkSpec, run: str | None, epoch: int = 0) -> Sink:
    """A sink for a run: a process, or a checkpoint, of which `epoch` counts the drivers; None: only to be checked."""
    if kind == "POSTGRES":
        try:
            from sash.sinks.postgres.writer import PostgresSink
        except ImportError as error:
            way_out = 'install it: pip install "sash[postgres]"'
            raise SashError(f"a sink in PostgreSQL needs psycopg, which cannot be imported: {error}", way_out) from None
        return PostgresSink(spec, run, epoch)
    raise SashError(f"there is no sink of the kind {kind}", "kinds are: POSTGRES")
