"""How far back in its streams a whole plan looks: its operators' lookbacks, added up on the way.

What was in memory before a view was created is enough for it if memory goes back as far. And an operator whose lookback is
bounded can be shared with a later view: what it holds can be made again from the rows in memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from sash.interned import remembered
from sash.operators.lookback import NO_LOOKBACK, Lookback
from sash.operators.spec import PortSpec, Spec, parts, parts_from_below
from sash.planner.job import Job
from sash.schema import FOREVER

Lookbacks = Mapping[PortSpec, Lookback]  # by the ports where rows come in


@remembered
def lookbacks(spec: Spec) -> Lookbacks:
    """How far a spec looks back in every stream."""
    found: dict[Spec, Lookbacks] = {}
    for part in parts_from_below(spec, found.__contains__):
        found[part] = _entrance(part) or _behind(part, together(found[lower] for lower in part.made_of))
    return found[spec]


def _entrance(spec: Spec) -> Lookbacks:
    """Where rows of a stream come in."""
    if not isinstance(spec, PortSpec) or spec.source is not None or spec.is_table or spec.is_time:
        return {}
    return {spec.base: NO_LOOKBACK}


def _behind(spec: Spec, below: Lookbacks) -> Lookbacks:
    own = spec.lookback
    return below if own == NO_LOOKBACK else {port: lookback.behind(own) for port, lookback in below.items()}


def together(many: Iterable[Lookbacks]) -> Lookbacks:
    found: dict[PortSpec, Lookback] = {}
    for one in many:
        for port, lookback in one.items():
            found[port] = found[port].joined(lookback) if port in found else lookback
    return found


def kept_for(specs: Iterable[Spec]) -> Lookbacks:
    """What ports keep in memory for views still to come: the rows that windows hold anyway, none for those without a bound."""
    return together(
        {port: Lookback(0 if one.time == FOREVER else one.time, one.rows) for port, one in lookbacks(spec).items()}
        for spec in specs
    )


def horizon(job: Job) -> int:
    """How long after its instant a row may still be in a window that it leaves by time."""
    kept = kept_for(view.spec for view in job.first_views)
    return max((lookback.time for lookback in kept.values()), default=0)


def can_share(spec: Spec, known: Container[Spec]) -> bool:
    """Whether a new view may read the operators that run already: all that it would read can be made again for it.

    What an exchange sent is nowhere kept, so a view with one has its own. So has one that asks for the time: before it rows may
    wait for their instant.
    """
    spec = spec.before_emission
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
    if spec.is_transparent:
        return all(map(_can_be_told, spec.inputs))
    return all(lookback.is_bounded for lookback in lookbacks(spec).values())
