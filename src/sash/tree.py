"""Walks over plans, specs and expressions: graphs of frozen nodes, in which a part that several others read is one object.

Nothing here recurses: a plan may be deeper than a stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

Node = TypeVar("Node")

CHILDREN = ("input", "left", "right", "source")  # the fields of a node that hold what it is made of


def reached(node: Node, steps: Callable[[Node], tuple[Node, ...]]) -> dict[Node, None]:
    """A node and all that steps lead to, each once, in the order in which it is read."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting += reversed(steps(one))
    return found


def from_below(
    node: Node, steps: Callable[[Node], tuple[Node, ...]], is_known: Callable[[Node], bool] = lambda node: False
) -> list[Node]:
    """The same, each node after all that steps lead to from it, but for what is known already and what lies below that."""
    found: dict[Node, None] = {}
    waiting: list[tuple[Node, bool]] = [(node, False)]
    while waiting:
        one, is_ready = waiting.pop()
        if is_ready:
            found.setdefault(one)
        elif one not in found and not is_known(one):
            waiting += [(one, True), *((lower, False) for lower in reversed(steps(one)))]
    return list(found)


def rebuild(node: Node, change: Callable[[Any], Any]) -> Node:
    """The same node over changed children; itself, if none changes."""
    children = {name: child for name in CHILDREN if (child := getattr(node, name, None)) is not None}
    changed = {name: new for name, child in children.items() if (new := change(child)) is not child}
    return replace(node, **changed) if changed else node  # type: ignore[type-var]


def transform(
    node: Node,
    change: Callable[[Node], Node | None],
    steps: Callable[[Node], tuple[Node, ...]],
    over: Callable[[Node, tuple[Node, ...]], Node],
) -> Node:
    """What becomes of a node, from above: `change` says it, or None: then it is the node `over` what becomes of its parts."""
    found: dict[Node, Node] = {}

    def unchanged(one: Node) -> tuple[Node, ...]:
        if (new := change(one)) is None:
            return steps(one)
        found[one] = new
        return ()

    for one in from_below(node, unchanged):
        if one not in found:
            parts = steps(one)
            found[one] = over(one, tuple(found[part] for part in parts)) if parts else one
    return found[node]
