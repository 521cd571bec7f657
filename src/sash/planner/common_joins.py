"""Joins that differ in their conditions or columns alone, written as one join with the differing part above it.

    Join  k = k                          Project  a, b
    ├─ Window ─ Filter v > 3 ─ s    ->   └─ Filter  v > 3
    └─ Window ─ Project k, b ─ r            └─ Join  k = k
                                               ├─ Window ─ s
                                               └─ Window ─ r

The join on the right names streams, keys and windows alone, so all such queries have the same one, and it runs once.
"""

from __future__ import annotations

from collections.abc import Container

from sash.operators.spec import Spec, parts_from_below
from sash.tree import rebuild


def with_common_joins(spec: Spec, joins: Container[Spec]) -> Spec:
    """The same plan with conditions and columns above those of its joins that would be outputs of these."""
    made: dict[Spec, Spec] = {}
    for part in parts_from_below(spec):
        over = rebuild(part, lambda below: made.get(below, below))
        made[part] = over.above_common if over.common is not None and over.common.shared in joins else over
    return made[spec]
