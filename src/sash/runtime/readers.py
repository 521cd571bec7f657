"""Who reads a node, and how each is given its rows: looked at once, then as readers come.

    rows of a node ─┬─▶ routings    filters that ask for a value of a column, by look-up       (`operators/filter/routing.py`)
                    ├─▶ sieve       filters that are tested together, where rows are few
                    ╰─▶ others      one by one

A reader that comes later is put where others like it are. When they have doubled, all are looked at anew: what serves a few may
not be what serves many. So one more costs the same however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from sash.operators.filter.routing import MANY, routings, sieve_of
from sash.runtime.arcs import Arc
from sash.runtime.families import families_of
from sash.runtime.node import Node

Read = tuple[Arc, Node]


def look_at_readers(node: Node, nodes: Sequence[Node]) -> None:
    """Find all who read a node; their sources are known."""
    count_skipped(node)
    node.readers = [(arc, nodes[arc.reader]) for arc in node.output.arcs]
    node.looked_at = len(node.readers)
    node.routings, served = routings((one, one.operator) for _, one in node.readers if one.is_handed_rows)
    node.direct = [(arc, one) for arc, one in node.readers if one not in served]
    _sift(node, node.direct)
    node.is_even = all(reader.sources is node.sources for _, reader in node.readers)
    _note_only(node)


def is_to_be_looked_at(node: Node) -> bool:
    """Whether there are so many more readers than there were that all are to be looked at."""
    return len(node.output.arcs) >= 2 * node.looked_at


def look_at_more_readers(node: Node, nodes: Sequence[Node]) -> None:
    """Find those who have come since somebody last looked."""
    if is_to_be_looked_at(node):
        look_at_readers(node, nodes)
        return
    for arc in islice(node.output.arcs, len(node.readers), None):
        _take_in(node, (arc, nodes[arc.reader]))
    _note_only(node)


def look_for_families(node: Node) -> None:
    """Find those who read a node and can be run together, once all of them are known; each of the others has rows as before."""
    node.offspring = families_of(node)
    if node.offspring:
        together = {first for family in node.offspring for first in family.firsts}
        _sift(node, [(arc, reader) for arc, reader in node.direct if reader not in together])


def count_skipped(node: Node) -> None:
    """Before somebody looks at what operators have counted: filters that were tested together and not run; those run together."""
    for family in node.offspring:
        family.tell()
    for reader, (positive, negative, messages) in node.sieve.take_skipped() if node.sieve is not None else ():
        traffic = reader.metrics.arcs[0]
        traffic.positive += positive
        traffic.negative += negative
        traffic.messages += messages


def _sift(node: Node, some: Sequence[Read]) -> None:
    """Test the filters among some readers together."""
    node.sieve = sieve_of((reader, reader.operator) for _, reader in some if reader.is_handed_rows)
    sifted = set(node.sieve.readers) if node.sieve is not None else set()
    node.others = [(arc, reader) for arc, reader in some if reader not in sifted]


def _take_in(node: Node, read: Read) -> None:
    _, reader = read
    node.readers.append(read)
    node.is_even = node.is_even and reader.sources is node.sources
    if reader.is_handed_rows and any(routing.take_in(reader, reader.operator) for routing in node.routings):
        return
    node.direct.append(read)
    if node.sieve is None or not reader.is_handed_rows or not node.sieve.take_in(reader, reader.operator):
        node.others.append(read)
        if node.sieve is None and len(node.others) >= MANY:
            _sift(node, node.others)


def _note_only(node: Node) -> None:
    readers = [reader for _, reader in node.readers[:2]]
    is_simple = len(readers) == 1 and readers[0].is_handed_rows and node.is_even and node.output.hands_over
    node.only = readers[0] if is_simple else None
