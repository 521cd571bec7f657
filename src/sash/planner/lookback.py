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

from sash.interned import remembered
from sash.operators.expiry.spec import InputExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.lookup.spec import LookupSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sequence.spec import SequenceSpec
from sash.operators.spec import PortSpec, Spec, from_below, inputs_and_source, parts
from sash.operators.streams.spec import DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec, TableChangesSpec
from sash.operators.time.spec import TicksSpec
from sash.operators.unnest.spec import UnnestSpec
from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec
from sash.plan.nodes import Pairing
from sash.planner.job import Job
from sash.schema import FOREVER


@dataclass(frozen=True)
class Reach:
    """Of one port: microseconds before now, or that many of the last rows, whichever is more."""

    time: int = 0  # FOREVER: to the first row
    rows: int = 0
    is_fresh: bool = False  # rows of before the creation cannot be made right: a table, or time, has changed since they came

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


@remembered
def reaches(spec: Spec) -> Reaches:
    """The reach of a spec into every stream."""
    found: dict[Spec, Reaches] = {}
    for part in from_below(spec, found.__contains__):
        found[part] = _reaches(part, together(found[lower] for lower in inputs_and_source(part)))
    return found[spec]


def _reaches(spec: Spec, below: Reaches) -> Reaches:
    if isinstance(spec, PortSpec):
        return below if spec.source is not None or spec.is_table or spec.is_time else {spec.base: Reach()}
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
        # How time changed the rows is not in memory.
        return {port: reach.joined(Reach(is_fresh=True)) for port, reach in below.items()}
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


def can_share(spec: Spec, known: Container[Spec]) -> bool:
    """Whether a new view may read the operators that run already: all that it would read can be made again for it.

    What an exchange sent is nowhere kept, so a view with one has its own. So has one that asks for the time: before it rows may
    wait for their instant.
    """
    spec = spec.input if isinstance(spec, EmitSpec) else spec
    if any(isinstance(part, PortSpec) and (part.source is not None or part.is_time) for part in parts(spec)):
        return not any(part in known and not isinstance(part, PortSpec) for part in parts(spec))
    return all(_can_be_told(border) for border in _borders(spec, known))


def _borders(spec: Spec, known: Container[Spec]) -> Iterator[Spec]:
    """The parts that run already, right below those that do not."""
    seen, waiting = {spec}, [spec]
    while waiting:
        one = waiting.pop()
        if one in known:
            yield one
            continue
        new = [child for child in one.inputs if child not in seen]
        seen.update(new)
        waiting += new


def _can_be_told(spec: Spec) -> bool:
    if isinstance(spec, PortSpec):
        return True
    if isinstance(spec, TimeWindowSpec | FilterSpec | ProjectSpec | UnnestSpec):  # they keep nothing
        return _can_be_told(spec.inputs[0])
    return all(reach.is_bounded for reach in reaches(spec).values())
