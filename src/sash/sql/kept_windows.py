"""Questions about windows of streams that are kept for their indexes: these are relations that have their rows already.

    FROM bids [RANGE 5 MINUTES] WHERE k = 7        the rows of "bids [RANGE 5 MINUTES]", as if a materialized view kept them

A question that reads more of streams than what is kept is not asked so: its parts would be at different instants.
"""

from __future__ import annotations

from collections.abc import Mapping

from sash.deep import deeply
from sash.plan.nodes import Aggregate, Combine, Filter, Join, Minus, Plan, Project, Scan, Top, inputs, scans
from sash.plan.over import Over
from sash.plan.rewrite import over_parts
from sash.plan.streams import Updates
from sash.plan.time_predicate import TimePredicate
from sash.plan.times import with_own_time
from sash.plan.unnest import Unnest
from sash.sql.bind.projections import columns
from sash.sql.catalog import ViewDefinition
from sash.tree import rebuild

# What asks for the rows of its inputs alone, not for how they came.
_OVER_ROWS = Filter | Project | Join | Combine | Minus | Top | Over | Unnest | TimePredicate | Aggregate


def rows_of(view: ViewDefinition) -> Plan:
    """What a view keeps, as a relation, not a stream: so it stands behind a projection."""
    scan = Scan(view.name, view.plan.schema, is_table=True, updates=Updates.RETROACTIVE)
    return Project(scan, columns(scan), scan.schema.names)


def over_kept_windows(plan: Plan, windows: Mapping[str, ViewDefinition]) -> Plan | None:
    """The same plan over windows that are kept; None if it reads more of streams than that, or reads none."""
    kept = {window.plan: window for window in windows.values()}
    if not any(not scan.is_table for scan in scans(plan)) or not _reads_only(plan, kept):
        return None
    return with_own_time(_over_rows(plan, kept))


@deeply
def _over_rows(plan: Plan, kept: Mapping[Plan, ViewDefinition]) -> Plan:
    return over_parts(plan, lambda part, changed: rows_of(kept[part]) if part in kept else rebuild(part, changed))


def _reads_only(plan: Plan, kept: Mapping[Plan, ViewDefinition]) -> bool:
    """Whether nothing is read of a stream but by these windows, and of these their rows alone."""
    waiting, seen = [plan], set[Plan]()
    while waiting:
        part = waiting.pop()
        if part in seen or part in kept:
            continue
        seen.add(part)
        if any(not scan.is_table for scan in scans(part)) and not isinstance(part, _OVER_ROWS):
            return False
        waiting += inputs(part)
    return True
