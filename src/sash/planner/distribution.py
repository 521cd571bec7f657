"""How rows are spread over the shards, and how operators ask for it.

    exactly(columns)   rows are spread by the hash of just these columns, in this order    (both sides of a join)
    within(columns)    rows that agree on these columns are together                       (groups, net changes)
    single             all rows are on shard 0                                             (windows and aggregates of everything)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sash.interned import remembered
from sash.operators.spec import PortSpec, Spec


class Spread(Enum):
    EXACTLY = "exactly"
    WITHIN = "within"
    SINGLE = "single"


@dataclass(frozen=True)
class Request:
    """How an operator wants its input spread over the shards."""

    spread: Spread
    columns: tuple[int, ...] = ()


SINGLE = Request(Spread.SINGLE)


def exactly(columns: tuple[int, ...]) -> Request:
    return Request(Spread.EXACTLY, columns) if columns else SINGLE


def within(columns: tuple[int, ...]) -> Request:
    return Request(Spread.WITHIN, columns) if columns else SINGLE


@dataclass(frozen=True)
class Placed:
    """A spec, its level, and by which columns its rows are spread: any of `keys` tells the shard; () means all on shard 0."""

    spec: Spec
    level: int
    keys: tuple[tuple[int, ...], ...]

    @property
    def is_single(self) -> bool:
        return () in self.keys

    def keys_among(self, columns: Sequence[int | None]) -> tuple[tuple[int, ...], ...]:
        """The keys that are made of these columns alone, by their places among them. None is left where rows are spread by
        something else."""
        found = (tuple(columns.index(column) for column in key) for key in self.keys if set(key) <= set(columns))
        return tuple(dict.fromkeys(found))

    def meets(self, request: Request) -> bool:
        if self.is_single:
            return request.spread is not Spread.EXACTLY
        if request.spread is Spread.EXACTLY:
            return request.columns in self.keys
        return request.spread is Spread.WITHIN and any(set(key) <= set(request.columns) for key in self.keys)


def exchange(placed: Placed, request: Request, level: int) -> Placed:
    """Send the rows to a higher level, spread as requested."""
    spec = placed.spec
    port = PortSpec(level, spec.schema, spec.pattern, request.columns, source=spec, source_level=placed.level)
    return Placed(port, level, (request.columns,))


@remembered
def exchanges(spec: Spec) -> frozenset[PortSpec]:
    """All exchanges that a spec needs."""
    own = {spec} if isinstance(spec, PortSpec) and spec.source is not None else frozenset()
    return frozenset(own).union(*map(exchanges, spec.made_of))
