"""Reach: how far back in a stream an answer looks.

    [RANGE 5 MINUTES]                          5 minutes
    [ROWS 100]                                 100 rows
    a window of 3 on a view with one of 5      3 + 5
    no window, PARTITION BY … ROWS             to the first row

What was in memory before a view was created is enough for it if memory goes back as far as its reach. And an operator whose reach
is bounded can be shared with a later view: what it holds can be made again from the rows in memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sash.logical.nodes import Pairing
from sash.physical.expiry_specs import InputExpireSpec
from sash.physical.job import Job
from sash.physical.pair_specs import LookupSpec, SequenceSpec
from sash.physical.specs import (
    CountWindowSpec,
    DeletionsSpec,
    EmitSpec,
    FilterSpec,
    InsertionsSpec,
    JumpingWindowSpec,
    PartitionWindowSpec,
    PortSpec,
    ProjectSpec,
    SnapshotsSpec,
    Spec,
    TableChangesSpec,
    TimeWindowSpec,
)
from sash.physical.ticks import TicksSpec
from sash.physical.unnest import UnnestSpec
from sash.schema import FOREVER


@dataclass(frozen=True)
class Reach:
    """Of one port: microseconds before now, or that many of the last rows, whichever is more."""

    time: int = 0  # FOREVER: to the first row
    rows: int = 0
    is_fresh: bool = False  # rows of before the creation cannot be made right: a table has changed since they came

    @property
    def is_bounded(self) -> bool:
        return self.time < FOREVER and not self.is_fresh

    def plus(self, time: int) -> Reach:
        """That of a window over what has this reach. So many rows before an instant in the past are not to be counted."""
        total = FOREVER if self.rows or FOREVER in (self.time, time) else self.time + time
        return Reach(total, 0, self.is_fresh)

    def joined(self, other: Reach) -> Reach:
        return Reach(max(self.time, other.time), max(self.rows, other.rows), self.is_fresh or other.is_fresh)


Reaches = Mapping[PortSpec, Reach]  # by the ports where rows come in


@lru_cache(maxsize=1 << 14)
def reaches(spec: Spec) -> Reaches:
    """The reach of a spec into every stream."""
    if isinstance(spec, PortSpec):
        if spec.source is not None:
            return reaches(spec.source)
        return {} if spec.is_table or spec.is_time else {spec.base: Reach()}
    below = together(reaches(child) for child in spec.inputs)
    if isinstance(spec, TimeWindowSpec):
        return {port: reach.plus(spec.size) for port, reach in below.items()}
    if isinstance(spec, JumpingWindowSpec):
        return {port: reach.plus(spec.size + spec.slide) for port, reach in below.items()}
    if isinstance(spec, EmitSpec):
        return {port: reach.plus(spec.period) for port, reach in below.items()}
    if isinstance(spec, CountWindowSpec) and isinstance(spec.input, PortSpec) and spec.input.source is None:
        return {port: Reach(0, spec.size + 2 * spec.slide) for port in below}
    if isinstance(spec, SequenceSpec) and spec.within is not None and spec.pairing is Pairing.RECENT:
        return {port: reach.plus(spec.within) for port, reach in below.items()}
    if isinstance(spec, CountWindowSpec | PartitionWindowSpec | SequenceSpec | TableChangesSpec | InputExpireSpec):
        return {port: reach.plus(FOREVER) for port, reach in below.items()}
    if isinstance(spec, InsertionsSpec | DeletionsSpec | SnapshotsSpec) and _shows_time(spec):
        return {port: reach.plus(FOREVER) for port, reach in below.items()}  # how time changed the rows is not in memory
    if isinstance(spec, LookupSpec):
        return {port: reach.joined(Reach(is_fresh=True)) for port, reach in below.items()}
    return below


def _shows_time(spec: Spec) -> bool:
    return any(isinstance(part, TicksSpec) for part in parts(spec))


def together(many: Iterable[Reaches]) -> Reaches:
    found: dict[PortSpec, Reach] = {}
    for one in many:
        for port, reach in one.items():
            found[port] = found[port].joined(reach) if port in found else reach
    return found


def kept_for(specs: Iterable[Spec]) -> Reaches:
    """What ports keep in memory for views still to come: the rows that windows hold anyway, none for those without a bound."""
    return together(
        {port: Reach(0 if reach.time == FOREVER else reach.time, reach.rows) for port, reach in reaches(spec).items()}
        for spec in specs
    )


def horizon(job: Job) -> int:
    """How long after its instant a row may still be in a window that it leaves by time."""
    kept = kept_for(view.spec for view in job.first_views)
    return max((reach.time for reach in kept.values()), default=0)


def parts(spec: Spec) -> Iterator[Spec]:
    """A spec and everything below it, also on lower levels."""
    yield spec
    for child in spec.inputs:
        yield from parts(child)
    if isinstance(spec, PortSpec) and spec.source is not None:
        yield from parts(spec.source)


def can_share(spec: Spec, known: Container[Spec]) -> bool:
    """Whether a new view may read the operators that run already: all that it would read can be made again for it.

    What an exchange sent is nowhere kept, so a view with one has its own. So has one that asks for the time: before it rows may
    wait for their instant.
    """
    if any(isinstance(part, PortSpec) and (part.source is not None or part.is_time) for part in parts(spec)):
        return not any(part in known and not isinstance(part, PortSpec) for part in parts(spec))
    return all(_can_be_told(border) for border in _borders(spec, known))


def _borders(spec: Spec, known: Container[Spec]) -> Iterator[Spec]:
    """The parts that run already, right below those that do not."""
    if spec in known:
        yield spec
        return
    for child in spec.inputs:
        yield from _borders(child, known)


def _can_be_told(spec: Spec) -> bool:
    if isinstance(spec, PortSpec):
        return True
    if isinstance(spec, TimeWindowSpec | FilterSpec | ProjectSpec | UnnestSpec):  # they keep nothing
        return _can_be_told(spec.inputs[0])
    return all(reach.is_bounded for reach in reaches(spec).values())
