"""Tables in plans: which parts are tables whose changes touch only what comes later."""

from __future__ import annotations

from dataclasses import replace

from sash.plan.nodes import Filter, Join, Plan, Project, Scan, TableChanges
from sash.plan.streams import Updates
from sash.scalar.nodes import Column, remap


def is_non_retroactive(plan: Plan) -> bool:
    """A NON RETROACTIVE table, filtered or projected."""
    while isinstance(plan, Filter | Project):
        plan = plan.input
    return isinstance(plan, Scan | TableChanges) and plan.updates is Updates.NON_RETROACTIVE


def turned(join: Join) -> Plan:
    """The same join with its sides exchanged, its columns in the old order."""
    left, right = len(join.left.schema), len(join.right.schema)
    places = {place: right + place for place in range(left)} | {left + place: place for place in range(right)}
    residual = None if join.residual is None else remap(join.residual, places)
    other = replace(
        join, left=join.right, right=join.left, left_keys=join.right_keys, right_keys=join.left_keys, residual=residual
    )
    fields = join.schema.fields
    columns = tuple(Column(places[place], fields[place].type, fields[place].name) for place in range(left + right))
    return Project(other, columns, join.schema.names)
