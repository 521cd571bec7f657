"""Walks over nodes, whatever they are: here, tuples of a name and parts."""

from __future__ import annotations

from sash.tree import from_below, transform

Node = tuple[str, tuple["Node", ...]]  # type: ignore[misc]


def parts(node: Node) -> tuple[Node, ...]:
    return node[1]


def over(node: Node, changed: tuple[Node, ...]) -> Node:
    return node[0], changed


def leaf(name: str) -> Node:
    return name, ()


TREE: Node = ("top", (("left", (leaf("a"), leaf("b"))), leaf("a"), ("right", (leaf("b"),))))


def test_what_is_not_changed_stays() -> None:
    assert transform(TREE, lambda node: None, parts, over) == TREE


def test_a_change_goes_wherever_a_part_is() -> None:
    changed = transform(TREE, lambda node: leaf("z") if node == leaf("a") else None, parts, over)
    assert changed == ("top", (("left", (leaf("z"), leaf("b"))), leaf("z"), ("right", (leaf("b"),))))


def test_what_stands_for_a_part_is_not_looked_into() -> None:
    seen: list[str] = []

    def change(node: Node) -> Node | None:
        seen.append(node[0])
        return ("other", (leaf("a"),)) if node[0] == "left" else None

    assert transform(TREE, change, parts, over)[1][0] == ("other", (leaf("a"),))
    assert seen == ["top", "left", "a", "right", "b"]  # from above, left to right


def test_a_tree_may_be_deeper_than_a_stack() -> None:
    """A number is made of the number before it."""
    assert transform(50_000, lambda n: 7 if n == 0 else None, lambda n: (n - 1,), lambda n, parts: parts[0] + 1) == 50_007


def test_from_below_every_node_comes_after_its_parts() -> None:
    order = [name for name, _ in from_below(TREE, parts)]
    assert order == ["a", "b", "left", "right", "top"]
