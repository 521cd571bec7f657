"""What the taps of an operator did: each tells of itself as if it were an operator of its own.

What came in came to all of them. The time that the operator was at work is divided by how much came out of each, its memory and
its walks evenly: so sums over all operators are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sash.operators.many_outputs import ManyOutputs
from sash.runtime.metrics import Buffers, OperatorMetrics
from sash.runtime.node import Node


def taps_metrics(node: Node, size: int) -> Iterator[OperatorMetrics]:
    """Of all taps of a node, whose state takes so many bytes."""
    operator, own = node.operator, node.metrics
    assert isinstance(operator, ManyOutputs)
    rows = {spec: 1 + tap.metrics.out.rows for spec, tap in node.taps.items()}
    count, total = len(rows), sum(rows.values())
    for place, (spec, tap) in enumerate(node.taps.items()):
        yield replace(
            tap.metrics, sources=own.sources, arcs=own.arcs, seconds=own.seconds * rows[spec] / total,
            probes=_part(operator.probes, place, count), state_rows=operator.kept_by(spec), state_bytes=_part(size, place, count),
            buffers=Buffers(operator.most_waiting, operator.kept_by(spec), operator.most_held),
        )


def _part(whole: int, place: int, count: int) -> int:
    """An even part of a number, so that all parts add up to it."""
    return whole * (place + 1) // count - whole * place // count
