"""A query that is answered once: its operators are made, see all rows in one step, and are thrown away.

    relations as they are now ─▶ ports ─▶ [ operators in an arena of their own ] ─▶ the answer

Nothing of it touches what runs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.bounds import at_work
from sash.deltas import Delta, forever
from sash.operators.net_changes import NetChanges
from sash.operators.spec import PortSpec, Spec, parts
from sash.runtime.graph import Feed, Graph
from sash.runtime.live import LiveView, Relations, Shelf, Weighed
from sash.scalar.failures import Failures
from sash.schema import BEGINNING
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import encode


class Begun(dict[str, int | None]):
    """Whatever a query reads begins at the instant of the question: nobody wants to know what was before."""

    def __init__(self, instant: int) -> None:
        self._instant = instant

    def __missing__(self, name: str) -> int:
        return self._instant


def answer_over(spec: Spec, relations: Relations, instant: int, failures: Failures) -> pa.Table:
    """What a spec over relations alone gives at an instant, sorted by the full row."""
    arena = Arena.anonymous()
    try:
        interner = Interner(arena)
        graph = Graph([spec], arena, interner, failures)
        feeds = {
            port: _feed(port, relations, interner, instant + 1) for port in parts(spec) if isinstance(port, PortSpec)
        }
        with at_work():
            found = graph.step(feeds, [spec], Begun(instant))[spec].delta
        live = LiveView(spec.schema, Shelf(interner), spec.key_columns)
        net = NetChanges(spec.layout, interner).over_all(found)
        live.add_lanes(net.rows, net.weight)
        return live.rows()
    finally:
        arena.close()


def _feed(port: PortSpec, relations: Relations, interner: Interner, clock: int) -> Feed:
    """All rows of a relation, as if they had always been there; time as such brings none."""
    if port.stream is None:
        return Feed(Delta.empty(port.layout.width), clock)
    rows = relations[port.stream]
    arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in rows.columns]
    weights = rows.weights if isinstance(rows, Weighed) else np.ones(rows.num_rows, np.int64)
    count = len(weights)
    lanes = encode(arrays, port.layout, interner) if arrays else np.zeros((count, port.layout.width), np.int64)
    return Feed(Delta(lanes, np.full(count, BEGINNING), forever(count), weights), clock)
