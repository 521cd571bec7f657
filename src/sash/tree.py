"""Walks over plans and specs: graphs of frozen nodes, in which a part that several others read is one object.

Nothing here recurses but `transform`, whose callers are prepared for deep plans (`deep.py`).
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


def transform(node: Node, change: Callable[[Any], Any]) -> Node:
    """Every node changed, those below first; a part that several others read is changed once."""
    known: dict[Any, Any] = {}

    def changed(part: Any) -> Any:
        if part not in known:
            known[part] = change(rebuild(part, changed))
        return known[part]

    return changed(node)  # type: ignore[no-any-return]
