"""GROUP BY, taken apart: every expression it names, and the sets of them to group by.

    GROUP BY a, b                    {a, b}
    GROUP BY ROLLUP (a, b)           {a, b}, {a}, {}            also GROUP BY a, b WITH ROLLUP
    GROUP BY CUBE (a, b)             {a, b}, {a}, {b}, {}       also WITH CUBE
    GROUP BY a, GROUPING SETS (b, ()) {a, b}, {a}
    GROUP BY a, b GROUPING SETS (b, ()) {b}, {}                 without a comma: of those before it
    GROUP BY ALL                     the items of the select list that have no aggregate: none are named here
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from sqlglot import exp

from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import fault

Nodes = tuple[exp.Expr, ...]

MOST_SETS = 512


@dataclass(frozen=True)
class Grouping:
    """Nodes in the order of the text; `sets` are places among them. One set is an ordinary GROUP BY."""

    nodes: Nodes
    sets: tuple[tuple[int, ...], ...]


def grouping(group: exp.Group | None) -> Grouping:
    if group is None:
        return Grouping((), ((),))
    only(group, ("expressions", "rollup", "cube", "grouping_sets", "all"))
    if is_all(group):
        return Grouping((), ((),))
    parts = list(group.expressions)
    if group.args.get("grouping_sets"):
        return _grouping([[one for part in group.args["grouping_sets"] for one in _sets(part)]], parts)
    for word, sets_of in (("rollup", _rollup), ("cube", _cube)):
        for node in group.args.get(word) or ():
            if not node.expressions:  # WITH ROLLUP: of all before it
                return _grouping([sets_of([_members(part) for part in parts])])
            parts.append(node)
    if not parts:
        raise fault(group, "GROUP BY needs something to group by")
    return _grouping([_sets(part) for part in parts])


def is_all(group: exp.Group | None) -> bool:
    return group is not None and bool(group.args.get("all")) and not group.expressions


def _grouping(parts: Sequence[list[Nodes]], before: Sequence[exp.Expr] = ()) -> Grouping:
    """Every choice of one set from each part."""
    named = [*before, *(node for part in parts for chosen in part for node in chosen)]
    nodes = list({id(node): node for node in named}.values())
    places = {id(node): place for place, node in enumerate(nodes)}
    _check_count(prod(map(len, parts)), nodes[-1] if nodes else None)
    chosen = [tuple(node for one in choice for node in one) for choice in product(*parts)]
    return Grouping(tuple(nodes), tuple(tuple(places[id(node)] for node in one) for one in chosen))


def _sets(node: exp.Expr) -> list[Nodes]:
    if isinstance(node, exp.Rollup):
        return _rollup([_members(part) for part in node.expressions])
    if isinstance(node, exp.Cube):
        return _cube([_members(part) for part in node.expressions])
    if isinstance(node, exp.GroupingSets):
        return [chosen for part in node.expressions for chosen in _sets(part)]
    return [_members(node)]


def _members(node: exp.Expr) -> Nodes:
    """The expressions of one element, which parentheses may hold together."""
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
        raise not_yet(node, f"{node.key.upper()} inside of another")
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def _rollup(elements: Sequence[Nodes]) -> list[Nodes]:
    return [sum(elements[:count], ()) for count in range(len(elements), -1, -1)]


def _check_count(count: int, where: exp.Expr | None) -> None:
    if count > MOST_SETS:
        message = f"GROUP BY means {count:,} grouping sets, and each is kept up to date by itself"
        raise fault(where, message, f"at most {MOST_SETS} are possible")


def _cube(elements: Sequence[Nodes]) -> list[Nodes]:
    _check_count(2 ** len(elements), elements[-1][0] if elements and elements[-1] else None)
    counts = range(len(elements), -1, -1)
    return [sum(chosen, ()) for count in counts for chosen in combinations(elements, count)]
