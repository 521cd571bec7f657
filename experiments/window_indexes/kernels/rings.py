"""Attribute-valued indexes: from a value to all of its tuples in the window. Links lead from tuple to tuple; the last leads back.

    RING    node -> oldest -> … -> newest -> node; a node knows the newest that may be seen, its LAST. A new tuple walks the ring
            to its end; one that leaves walks it, too, to find its node.
    AUX     the same with an index of the open basic window, so that a value is looked for in the main index once for each of them
    BW      node -> newest -> … -> oldest -> node, and AUX. The youngest tuple of a value in the oldest basic window leads through
            all that leave; then the ring is walked for its new end.
    DB      as BW, but that youngest tuple stays as the end, and a bit tells readers to skip it
    ROWS    Sash's own: tuples are row numbers, node -> newest -> … older. A row is gone when it is below the oldest of the
            window, so a chain ends by itself, and nothing is deleted. Rows of the open basic window are hidden likewise.

A link is a tuple, or minus the node that the ring goes back to.

What is timed is noted for every basic window that closes: all work on it, the deletion, the query.
"""

from __future__ import annotations

from typing import NamedTuple

from experiments.cycles import cycles
from experiments.window_indexes.kernels.index import (
    DIRTY,
    FIRST,
    LAST,
    MAIN,
    PENDING,
    PURGE_EVERY,
    SINCE_PURGE,
    SLOT,
    USED_NODES,
    ZERO,
    Index,
    find,
    first_in_order,
    give_back,
    next_in_order,
    remove,
)
from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel

RING, AUX, BW, DB, ROWS = range(5)
MAIN_PART, AUX_PART, INDEX_PARTS = 0, 1, 2

# Of a tuple. KEPT marks the end of a ring that has left the window.
TUPLE_VALUE, PAYLOAD, LINK, IN_WINDOW, KEPT, TUPLE_LANES = 0, 1, 2, 3, 4, 6
FORM, RING_LENGTH, RING_OPTIONS = 0, 1, 2
RING_CLOSED, FREE_TUPLE, USED_TUPLES, LIVE_TUPLES, NEWS, TAIL, SEEN, OLDEST, RING_STEPS, RING_REGISTERS = range(10)
ALL_WORK, DELETION, QUERY, TIMES = 0, 1, 2, 3


class Rings(NamedTuple):
    """`heads` and `ends` are those of the basic windows' lists of tuples, or the row numbers where they begin."""

    options: Line
    registers: Line
    heads: Line
    ends: Line
    tuples: Lines
    lookup: Index
    times: Lines
    payloads: Line  # what a query gives
    values: Line


open_rings = opened(Rings)


@inlined
def _take_tuple(value: int, payload: int, rings: Rings) -> int:
    registers, tuples = rings.registers, rings.tuples
    one = registers[FREE_TUPLE]
    if one:
        registers[FREE_TUPLE] = tuples[one, IN_WINDOW]
    else:
        registers[USED_TUPLES] += 1
        one = registers[USED_TUPLES]
    registers[LIVE_TUPLES] += 1
    tuples[one, TUPLE_VALUE], tuples[one, PAYLOAD], tuples[one, LINK] = value, payload, 0
    tuples[one, IN_WINDOW], tuples[one, KEPT] = 0, 0
    return one


@inlined
def _free_tuple(one: int, rings: Rings) -> None:
    rings.tuples[one, IN_WINDOW] = rings.registers[FREE_TUPLE]
    rings.registers[FREE_TUPLE] = one
    rings.registers[LIVE_TUPLES] -= 1


@inlined
def _list_tuple(one: int, is_backward: bool, rings: Rings) -> None:
    """Into the list of the open basic window: in front, or behind."""
    slot = rings.registers[RING_CLOSED] % (rings.options[RING_LENGTH] + 1)
    if is_backward:
        rings.tuples[one, IN_WINDOW] = rings.heads[slot]
        rings.heads[slot] = one
    else:
        if rings.heads[slot]:
            rings.tuples[rings.ends[slot], IN_WINDOW] = one
        else:
            rings.heads[slot] = one
        rings.ends[slot] = one


@kernel
def _insert_ring(one: int, value: int, rings: Rings) -> None:
    index, tuples = rings.lookup, rings.tuples
    node = find(value, MAIN_PART, index)
    tuples[one, LINK] = -node
    last = index.nodes[node, FIRST]
    if last == 0:
        index.nodes[node, FIRST] = one
        return
    steps = 1
    while tuples[last, LINK] > 0:
        last = tuples[last, LINK]
        steps += 1
    tuples[last, LINK] = one
    rings.registers[RING_STEPS] += steps


@kernel
def _insert_aux(one: int, value: int, is_backward: bool, rings: Rings) -> None:
    """The auxiliary node of a value has its oldest and newest tuple of the open basic window; those nodes are chained."""
    index, tuples, registers, nodes = rings.lookup, rings.tuples, rings.registers, rings.lookup.nodes
    aux = find(value, AUX_PART, index)
    is_new = nodes[aux, MAIN] == 0
    if is_new:
        node = find(value, MAIN_PART, index)
        nodes[aux, MAIN], nodes[aux, ZERO], nodes[aux, FIRST] = node, registers[NEWS], one
        nodes[node, PENDING] = 1
        registers[NEWS] = aux
    main = nodes[aux, MAIN]
    if is_backward:
        tuples[one, LINK] = nodes[aux, LAST]  # nobody for the first: it is linked when the basic window closes
    else:
        tuples[one, LINK] = -main
        before = nodes[main, LAST] if is_new else nodes[aux, LAST]
        if before:
            tuples[before, LINK] = one
        else:
            nodes[main, FIRST] = one
    nodes[aux, LAST] = one


@kernel
def _insert_row(value: int, payload: int, rings: Rings) -> None:
    registers, tuples = rings.registers, rings.tuples
    row = registers[TAIL]
    node, line = find(value, MAIN_PART, rings.lookup), row & (len(tuples) - 1)
    tuples[line, TUPLE_VALUE], tuples[line, PAYLOAD], tuples[line, LINK] = value, payload, rings.lookup.nodes[node, FIRST]
    rings.lookup.nodes[node, FIRST] = row + 1
    registers[TAIL] = row + 1


@kernel
def _insert_tuple(value: int, payload: int, rings: Rings) -> None:
    form = rings.options[FORM]
    rings.lookup.registers[SINCE_PURGE] += 1
    if form == ROWS:
        _insert_row(value, payload, rings)
        return
    one = _take_tuple(value, payload, rings)
    is_backward = form == BW or form == DB
    _list_tuple(one, is_backward, rings)
    if form == RING:
        _insert_ring(one, value, rings)
    else:
        _insert_aux(one, value, is_backward, rings)


@kernel
def _delete_forward(slot: int, rings: Rings) -> None:
    """Every tuple walks its ring to the node, whose first it is."""
    tuples, nodes, steps = rings.tuples, rings.lookup.nodes, 0
    one = rings.heads[slot]
    while one:
        place = one
        while tuples[place, LINK] > 0:
            place = tuples[place, LINK]
            steps += 1
        node = -tuples[place, LINK]
        nodes[node, FIRST] = max(0, tuples[one, LINK])
        if nodes[node, LAST] == one:
            nodes[node, LAST] = 0
        following = tuples[one, IN_WINDOW]
        _free_tuple(one, rings)
        one = following
        steps += 1
    rings.registers[RING_STEPS] += steps


@kernel
def _delete_backward(slot: int, keeps_end: bool, rings: Rings) -> None:
    """From the youngest tuple of a value on, all that leave are unlinked. The ring ends before it, or at it if it is kept."""
    tuples, nodes, steps = rings.tuples, rings.lookup.nodes, 0
    one = rings.heads[slot]
    while one:
        if tuples[one, LINK]:
            place = one
            while tuples[place, LINK] > 0:
                following = tuples[place, LINK]
                tuples[place, LINK] = 0
                if tuples[place, KEPT]:
                    _free_tuple(place, rings)
                place = following
                steps += 1
            node = -tuples[place, LINK]
            tuples[place, LINK] = 0
            if tuples[place, KEPT]:
                _free_tuple(place, rings)
            if keeps_end:
                tuples[one, LINK], tuples[one, KEPT], nodes[node, DIRTY] = -node, 1, 1
            elif nodes[node, FIRST] == one:
                nodes[node, FIRST] = 0
            else:
                last = nodes[node, FIRST]
                while tuples[last, LINK] != one:
                    last = tuples[last, LINK]
                    steps += 1
                tuples[last, LINK] = -node
        one = tuples[one, IN_WINDOW]
        steps += 1
    one = rings.heads[slot]
    while one:
        following = tuples[one, IN_WINDOW]
        if not tuples[one, KEPT]:
            _free_tuple(one, rings)
        one = following
    rings.registers[RING_STEPS] += steps


@kernel
def _show_new(rings: Rings) -> None:
    """What came in the basic window that closes may be seen from now on."""
    form, registers, tuples, nodes = rings.options[FORM], rings.registers, rings.tuples, rings.lookup.nodes
    if form == RING:
        for node in range(1, rings.lookup.registers[USED_NODES] + 1):
            last = nodes[node, LAST] if nodes[node, LAST] else nodes[node, FIRST]
            if nodes[node, SLOT] >= 0 and last:
                while tuples[last, LINK] > 0:
                    last = tuples[last, LINK]
                nodes[node, LAST] = last
        return
    while registers[NEWS]:
        aux = registers[NEWS]
        main, first, last = nodes[aux, MAIN], nodes[aux, FIRST], nodes[aux, LAST]
        if form == AUX:
            nodes[main, LAST] = last
        else:
            tuples[first, LINK] = nodes[main, FIRST] if nodes[main, FIRST] else -main
            nodes[main, FIRST] = last
        nodes[main, PENDING] = 0
        registers[NEWS] = nodes[aux, ZERO]
        give_back(aux, rings.lookup)


@inlined
def _forget_aux(rings: Rings) -> None:
    heads, buckets = rings.lookup.heads, len(rings.lookup.heads) // INDEX_PARTS
    for bucket in range(buckets):
        heads[AUX_PART * buckets + bucket] = 0


@inlined
def _is_empty(node: int, rings: Rings) -> bool:
    nodes, tuples, form = rings.lookup.nodes, rings.tuples, rings.options[FORM]
    first = nodes[node, FIRST]
    if nodes[node, PENDING] or nodes[node, MAIN]:  # the open basic window has tuples of it, or it is of the auxiliary index
        return False
    if form == ROWS:
        return first - 1 < rings.registers[OLDEST]
    return first == 0 or tuples[first, KEPT] == 1


@kernel
def purge_rings(rings: Rings) -> None:
    """Values without a tuple go."""
    index = rings.lookup
    for node in range(1, index.registers[USED_NODES] + 1):
        if index.nodes[node, SLOT] >= 0 and _is_empty(node, rings):
            if rings.options[FORM] == DB and index.nodes[node, FIRST]:
                _free_tuple(index.nodes[node, FIRST], rings)
            remove(node, index)
    index.registers[SINCE_PURGE] = 0


@kernel
def _close_rings(rings: Rings) -> int:
    """How many cycles the deletion took."""
    form, registers = rings.options[FORM], rings.registers
    slots, closed = rings.options[RING_LENGTH] + 1, registers[RING_CLOSED]
    oldest = (closed + 1) % slots
    started = cycles()
    if form == ROWS:
        registers[OLDEST] = rings.heads[(closed + 2) % slots] if closed + 1 >= slots else 0
    elif form == RING or form == AUX:
        _delete_forward(oldest, rings)
    else:
        _delete_backward(oldest, form == DB, rings)
    took = cycles() - started
    registers[RING_CLOSED] = closed + 1
    if form == ROWS:
        registers[SEEN] = rings.heads[oldest] = registers[TAIL]
    else:
        rings.heads[oldest] = 0
        _show_new(rings)
        _forget_aux(rings)
    if rings.lookup.registers[SINCE_PURGE] >= rings.lookup.options[PURGE_EVERY]:
        purge_rings(rings)
    return took


@inlined
def _write_tuple(place: int, n: int, rings: Rings) -> None:
    rings.values[n], rings.payloads[n] = rings.tuples[place, TUPLE_VALUE], rings.tuples[place, PAYLOAD]


@kernel
def _read_ring(node: int, n: int, rings: Rings) -> int:
    nodes, tuples, form, registers = rings.lookup.nodes, rings.tuples, rings.options[FORM], rings.registers
    one = nodes[node, FIRST]
    if form == ROWS:
        mask, row = len(tuples) - 1, one - 1
        while row >= registers[SEEN]:
            row = tuples[row & mask, LINK] - 1
        while row >= registers[OLDEST]:
            _write_tuple(row & mask, n, rings)
            n += 1
            row = tuples[row & mask, LINK] - 1
    elif form == RING or form == AUX:
        last = nodes[node, LAST]
        while last and one > 0:
            _write_tuple(one, n, rings)
            n += 1
            one = tuples[one, LINK] if one != last else 0
    else:
        is_dirty = nodes[node, DIRTY]
        while one > 0:
            following = tuples[one, LINK]
            if following > 0 or not is_dirty:
                _write_tuple(one, n, rings)
                n += 1
            one = following
    return n


@kernel
def _read_all(rings: Rings) -> int:
    """All tuples in the order of their values."""
    n = 0
    node, depth = first_in_order(MAIN_PART, rings.lookup)
    while node:
        n = _read_ring(node, n, rings)
        node, depth = next_in_order(node, depth, rings.lookup)
    return n


@kernel
def insert_tuples(values: Int64s, payloads: Int64s, record: Int64s) -> None:
    rings = open_rings(record)
    for i in range(len(values)):
        _insert_tuple(values[i], payloads[i], rings)


@kernel
def close_tuples(record: Int64s) -> None:
    _close_rings(open_rings(record))


@kernel
def purge_now(record: Int64s) -> None:
    purge_rings(open_rings(record))


@kernel
def read_all(record: Int64s) -> int:
    return _read_all(open_rings(record))


@kernel
def read_value(value: int, record: Int64s) -> int:
    """The tuples of one value; the node of a value that was never seen is made, and goes with the next purge."""
    rings = open_rings(record)
    return _read_ring(find(value, MAIN_PART, rings.lookup), 0, rings)


@kernel
def advance_tuples(values: Int64s, payloads: Int64s, size: int, is_asked: bool, record: Int64s) -> None:
    """Basic windows of so many tuples; the sorted window is read after every one."""
    rings = open_rings(record)
    for start in range(0, len(values), size):
        begun = cycles()
        for i in range(start, start + size):
            _insert_tuple(values[i], payloads[i], rings)
        deletion = _close_rings(rings)
        closed = cycles()
        if is_asked:
            _read_all(rings)
        line = start // size
        rings.times[line, ALL_WORK], rings.times[line, DELETION] = closed - begun, deletion
        rings.times[line, QUERY] = cycles() - closed
