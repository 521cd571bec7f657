"""A physical plan as a tree of text: operators, what they keep, and how rows leave each edge."""

from __future__ import annotations

from collections.abc import Iterator

from sash.logical.nodes import Plan
from sash.physical.placement import Expiry, place_view
from sash.physical.specs import (
    CombineSpec,
    CountWindowSpec,
    EmitSpec,
    ExpireSpec,
    GroupBySpec,
    JoinSpec,
    JumpingWindowSpec,
    LookupSpec,
    MinusSpec,
    PartitionWindowSpec,
    PortSpec,
    SequenceSpec,
    SignedJoinSpec,
    SignedLookupSpec,
    SnapshotsSpec,
    Spec,
    TopSpec,
)

_KEPT: dict[type[Spec], str] = {
    JumpingWindowSpec: "rows of the open basic window",
    CountWindowSpec: "ring of rows",
    PartitionWindowSpec: "chain of rows per key",
    JoinSpec: "log of rows per side, chained by key",
    SignedJoinSpec: "bag of rows per side, by key",
    LookupSpec: "bag of the table, by key",
    SignedLookupSpec: "bag of the table, by key; left rows, each with what it met",
    GroupBySpec: "one line per group",
    SnapshotsSpec: "tree of rows in order",
    CombineSpec: "bag of rows with a count per side",
    MinusSpec: "tree of left rows per key, the youngest first",
    TopSpec: "tree of rows in order, per partition",
    SequenceSpec: "left rows that wait for a right one",
    EmitSpec: "net changes of the open period",
}


def explain_view(plan: Plan, expiry: Expiry) -> str:
    """How a view runs on several shards."""
    spec, _ = place_view(plan, 2, expiry)
    return "\n".join(_lines(spec))


def operator_text(spec: Spec) -> str:
    """One operator, without what is below it."""
    return f"{type(spec).__name__.removesuffix('Spec')}{_port(spec)}"


def _lines(spec: Spec) -> Iterator[str]:
    kept = "ring of live rows" if isinstance(spec, ExpireSpec) and spec.input.pattern < 2 else _KEPT.get(type(spec), "")
    if isinstance(spec, ExpireSpec) and not kept:
        kept = "heap of live rows"
    yield f"{operator_text(spec)}  [{spec.pattern}]" + (f"  keeps: {kept}" if kept else "")
    below = (spec.source,) if isinstance(spec, PortSpec) and spec.source is not None else spec.inputs
    for child in below:
        is_last = child is below[-1]
        first, *rest = _lines(child)
        yield f"{'└─' if is_last else '├─'} {first}"
        yield from (f"{'  ' if is_last else '│ '} {line}" for line in rest)


def _port(spec: Spec) -> str:
    if not isinstance(spec, PortSpec):
        return ""
    names = ", ".join(spec.schema.names[column] for column in spec.key)
    spread = f"by {names}" if names else "to one shard"
    return f"  {spec.stream}, {spread}" if spec.stream is not None else f"  exchange {spread}, level {spec.level}"
