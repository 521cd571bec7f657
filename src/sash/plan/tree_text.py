"""Trees as text, a line a node.

Plans share parts, so a short plan may be a tall tree. One of many lines tells every part once:

    Join  k = k
    ├─ Filter  v > 1
    │  └─ Window  [RANGE 5 MINUTES]
    │     └─ Scan  s
    └─ Project  k
       └─ Filter  v > 1  (as above)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_Node = TypeVar("_Node")

MANY = 200  # lines, from which on no part is told twice


def tree_lines(
    top: _Node, below: Callable[[_Node], Sequence[_Node]], text: Callable[[_Node], str]
) -> Iterator[tuple[str, _Node]]:
    """Every line, and the node that it tells of."""
    told: set[_Node] | None = set() if _size(top, below) > MANY else None
    waiting: list[tuple[_Node, str, str]] = [(top, "", "")]  # what is before its line, and before those below it
    while waiting:
        node, mark, indent = waiting.pop()
        children = below(node)
        is_told = told is not None and node in told and bool(children)
        yield f"{mark}{text(node)}{'  (as above)' if is_told else ''}", node
        if told is not None:
            told.add(node)
        if not is_told:
            last = len(children) - 1
            lines = [
                (child, f"{indent}{'└─' if n == last else '├─'} ", f"{indent}{'  ' if n == last else '│ '} ")
                for n, child in enumerate(children)
            ]
            waiting += reversed(lines)


def _size(top: _Node, below: Callable[[_Node], Sequence[_Node]]) -> int:
    """How many lines the whole tree has; more than many are not counted."""
    count, waiting = 0, [top]
    while waiting and count <= MANY:
        count += 1
        waiting += below(waiting.pop())
    return count
