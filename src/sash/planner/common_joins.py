"""Joins that differ in their conditions or columns alone, written as one join with the differing part above it.

    Join  k = k                          Project  a, b
    ├─ Window ─ Filter v > 3 ─ s    ->   └─ Filter  v > 3
    └─ Window ─ Project k, b ─ r            └─ Join  k = k
                                               ├─ Window ─ s
                                               └─ Window ─ r

The join on the right names streams, keys and windows alone, so all such queries have the same one, and it runs once. What moves
are choices of columns, and conditions that compare a column with constants: those cannot fail, and cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from sash.interned import remembered
from sash.operators.filter.conditions import parted
from sash.operators.filter.spec import FilterSpec
from sash.operators.join.spec import LeavingJoinSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.shared_join.spec import SharedJoinSpec
from sash.operators.spec import Spec, parts_from_below
from sash.operators.windows.spec import TimeWindowSpec
from sash.plan.rules.conditions import conjunction
from sash.scalar.nodes import Column, Expression, remap
from sash.tree import rebuild


def with_common_joins(spec: Spec, joins: Container[SharedJoinSpec]) -> Spec:
    """The same plan with conditions and columns above those of its joins that would be among these."""
    return _rewritten(spec, lambda part: above_common_join(part, joins))


@remembered
def common_join(join: LeavingJoinSpec) -> LeavingJoinSpec | None:
    """The join of all rows and columns over the windows of this one; None if it is that, or none of two time windows."""
    if join.shared is None:
        return None
    left, right = opened(join.left), opened(join.right)
    if left.window is join.left and right.window is join.right:
        return None
    fields = left.window.schema.fields + right.window.schema.fields
    left_keys = tuple(left.columns[key] for key in join.left_keys)
    right_keys = tuple(right.columns[key] for key in join.right_keys)
    names = tuple(field.name for field in fields)
    return LeavingJoinSpec(left.window, right.window, left_keys, right_keys, tuple(range(len(fields))), names)


def above_common_join(spec: Spec, joins: Container[SharedJoinSpec]) -> Spec:
    """What a join is that chooses from a common one, if that is among these; anything else as it is."""
    common = common_join(spec) if isinstance(spec, LeavingJoinSpec) else None
    if not isinstance(spec, LeavingJoinSpec) or common is None or common.shared not in joins:
        return spec
    left, right, width = opened(spec.left), opened(spec.right), len(common.left.schema)
    shifted = {place: width + place for place in range(len(common.right.schema))}
    conditions = [*left.conditions, *(remap(condition, shifted) for condition in right.conditions)]
    chosen: Spec = FilterSpec(common, conjunction(conditions)) if conditions else common
    columns, fields = [*left.columns, *(shifted[column] for column in right.columns)], common.schema.fields
    wanted = tuple(Column(columns[one], fields[columns[one]].type, fields[columns[one]].name) for one in spec.columns)
    return ProjectSpec(chosen, wanted, spec.names)


@dataclass(frozen=True)
class Opened:
    """A side of a join: a window of all rows and columns, conditions on these, and which columns were wanted."""

    window: Spec
    conditions: tuple[Expression, ...]
    columns: tuple[int, ...]


@remembered
def opened(side: Spec) -> Opened:
    """A window without the conditions and choices of columns in it, where these can be made above a join too."""
    if isinstance(side, TimeWindowSpec):
        below = opened(side.input)
        return replace(below, window=side if below.window is side.input else replace(side, input=below.window))
    if isinstance(side, FilterSpec) and parted(side.predicate)[1] is None:
        below = opened(side.input)
        moved = remap(side.predicate, dict(enumerate(below.columns)))
        return replace(below, conditions=(*below.conditions, moved))
    if isinstance(side, ProjectSpec):
        columns = [expression.index for expression in side.expressions if isinstance(expression, Column)]
        if len(columns) == len(side.expressions):
            below = opened(side.input)
            return replace(below, columns=tuple(below.columns[column] for column in columns))
    return Opened(side, (), tuple(range(len(side.schema))))


def _rewritten(spec: Spec, change: Callable[[Spec], Spec]) -> Spec:
    """A plan with each of its parts changed, over what became of those below."""
    made: dict[Spec, Spec] = {}
    for part in parts_from_below(spec):
        made[part] = change(rebuild(part, lambda child: made.get(child, child)))
    return made[spec]
