"""Figures over values in order, row by row: the values of every group are kept once, whoever asks for what.

    values of a group      a ─ a ─ b ─ c ─ e ─ e ─ e ─ f       one node for equal ones; nodes know those beside them
    fingers                    ▲           ▲                   of every figure: the node where it was found, the rows before it

At the end of an instant, values that came or went are put in order (`group_by/kernels/ranks.py`), and every finger learns
whether there are more or fewer rows before it now. A figure is then found a step or two from its finger. After many changes at
one instant it is looked for from the root of the tree, as one without a finger is. So a figure at every row costs a step, and
one that is asked for rarely costs nothing meanwhile.

What taps give is written one after the other, and sorted by tap when the room is full (`hand_out`).
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF
from sash.kernels.strings import Strings
from sash.operators.group_by.kernels.groups import (
    GroupFacts,
    GroupState,
    feed_row,
    find_group,
    forget_group,
    look_ahead,
    tag_rows_by_key,
)
from sash.operators.group_by.kernels.percentiles import between_nodes, rank_of_fraction
from sash.operators.group_by.kernels.ranks import LEFT, RIGHT, SUM, own_rows, settle_rank
from sash.operators.group_by.kernels.registers import LAST, LIVE_GROUPS, LIVE_NODES, TOUCHED_GROUP, TOUCHED_NODE
from sash.operators.group_by.kernels.value_nodes import (
    COUNT,
    MAJOR,
    OUTSIDE,
    TOUCHED,
    forget_node,
    group_of,
    is_before,
    value_of,
)
from sash.operators.group_by.opcodes import (
    CONTINUOUS,
    DISCRETE,
    LINK,
    ROWS,
    SET_CELL,
)

# Of a figure: what it is (CONTINUOUS and DISCRETE are percentiles), and of a percentile what it is told.
COUNT_ROWS, COUNT_VALUES = 0, 1
KIND, NUMERATOR, DENOMINATOR, IS_DESCENDING, SCALE, FIGURE_FIELDS = 0, 1, 2, 3, 4, 5
assert min(CONTINUOUS, DISCRETE) > COUNT_VALUES
# A figure of a group, when it is found.
LOW, HIGH, IS_NULL, FOUND_FIELDS = 0, 1, 2, 3
# Of the fingers of a group: how many values came or went since they were used; then of each its node, the rows before, its value.
MOVES, FIRST_FINGER = 0, 1
NODE, BEFORE, VALUE, FINGER_FIELDS = 0, 1, 2, 3
FEW_MOVES, FEW_STEPS = 16, 8  # it is quicker to look for figures anew after more than that
# Of a column of a tap: its figure, and where it goes to.
FIGURE, LANE, MASK, BIT, LANES, COLUMN_FIELDS = 0, 1, 2, 3, 4, 5
# A tap's line of a group: whether its row is shown, and the row.
IS_SHOWN, ROW = 0, 1
WIDTH, VALUES, SHAPE = 0, 1, 2  # of a tap: its lanes, those of values
# Of a change: of which tap, the instant, the weight, where its lanes begin. Of a step: how many changes, how many lanes.
TAP, INSTANT, WEIGHT, AT, CHANGE_FIELDS = 0, 1, 2, 3, 4
WRITTEN, WRITTEN_LANES, WORK = 0, 1, 2

PREVIOUS_NODE, NEXT_NODE = 0, 1


class Tap(NamedTuple):
    columns: Lines
    lines: Lines
    shape: Line


class Order(NamedTuple):
    """The values of groups in order, and who asks for what."""

    facts: GroupFacts
    state: GroupState
    strings: Strings
    neighbours: Lines  # of every node: the one before it in its group, and the one after it
    figures: Lines
    fingers: Lines  # of every group
    found: Lines
    taps: Lines  # their records
    work: Line


class Given(NamedTuple):
    """Room for what taps give."""

    changes: Lines
    lanes: Line


open_order, open_tap = opened(Order), opened(Tap)


@kernel
def order_rows(
    rows: Int64s, ts: Int64s, weight: Int64s, row: int, begin: int, record: Int64s, tags: Int64s, changes: Int64s, lanes: Int64s
) -> int:
    """Take in the changes from `row` on; the answer is where it stopped.

    Before the end it stops only for want of room: for groups, for nodes, or for what taps give. Then some groups may still be
    touched. Instants before `begin` show nothing. `tags` is room for those of all rows.
    """
    order, given = open_order(record), Given(changes, lanes)
    facts, state, strings = order.facts, order.state, order.strings
    registers, cells = state.registers, state.cells
    if row == 0:
        tag_rows_by_key(rows, facts, tags)
    room, node_room = len(cells) - 1, len(state.nodes) - 2
    while True:
        if registers[TOUCHED_GROUP] != LAST and (row == len(ts) or ts[row] != ts[row - 1]):
            if registers[TOUCHED_NODE] != LAST:
                _settle(order)
            if not _show_touched(ts[row - 1], ts[row - 1] >= begin, order, given):
                break
        if row == len(ts) or registers[LIVE_GROUPS] >= room or registers[LIVE_NODES] > node_room:
            break
        look_ahead(tags, row, state.table, cells, state.lines)
        group = find_group(rows, row, tags[row], facts, state)
        if cells[group, LINK] == 0:
            cells[group, LINK] = registers[TOUCHED_GROUP]
            registers[TOUCHED_GROUP] = group
        feed_row(rows, row, weight[row], group, facts, state, strings)
        row += 1
    return row


# Values in order.


@kernel
def _settle(order: Order) -> None:
    """At the end of an instant every value is where its count says."""
    state, sets, strings, registers = order.state, order.facts.sets, order.strings, order.state.registers
    nodes, cells, cell = state.nodes, state.cells, sets[0, SET_CELL]
    node = registers[TOUCHED_NODE]
    while node != LAST:
        following = nodes[node, TOUCHED]
        nodes[node, TOUCHED] = 0
        group = group_of(nodes, node)
        there = 0 if nodes[node, SUM] == OUTSIDE else own_rows(nodes, node)
        root, is_changed = settle_rank(
            nodes, state.beside, cells[group, cell], node, sets, strings.starts, strings.lengths, strings.heap
        )
        cells[group, cell] = root
        if is_changed:
            now = 0 if nodes[node, SUM] == OUTSIDE else own_rows(nodes, node)
            if there == 0:
                _link(node, root, order)
            _move_fingers(group, node, now - there, now == 0, order)
            if now == 0:
                _unlink(node, order.neighbours)
        if nodes[node, COUNT] == 0:
            forget_node(nodes, state.beside, state.node_table, registers, sets, node)
        node = following
    registers[TOUCHED_NODE] = LAST


@kernel
def _link(node: int, root: int, order: Order) -> None:
    """Put a node of a tree between those beside it."""
    state, sets, strings, neighbours = order.state, order.facts.sets, order.strings, order.neighbours
    nodes, current, before, after = state.nodes, root, 0, 0
    while current != node:
        if is_before(nodes, state.beside, node, current, sets, strings.starts, strings.lengths, strings.heap):
            after, current = current, nodes[current, LEFT]
        else:
            before, current = current, nodes[current, RIGHT]
    child = nodes[node, LEFT]
    while child:
        before, child = child, nodes[child, RIGHT]
    child = nodes[node, RIGHT]
    while child:
        after, child = child, nodes[child, LEFT]
    neighbours[node, PREVIOUS_NODE], neighbours[node, NEXT_NODE] = before, after
    neighbours[before, NEXT_NODE] = node  # of node 0, which is nobody, too
    neighbours[after, PREVIOUS_NODE] = node


@inlined
def _unlink(node: int, neighbours: Int64s) -> None:
    before, after = neighbours[node, PREVIOUS_NODE], neighbours[node, NEXT_NODE]
    neighbours[before, NEXT_NODE], neighbours[after, PREVIOUS_NODE] = after, before


@kernel
def _move_fingers(group: int, node: int, change: int, is_gone: bool, order: Order) -> None:
    """A node has so many rows more, or is about to go; then the fingers at it go to the next one."""
    fingers, state, sets, strings = order.fingers, order.state, order.facts.sets, order.strings
    nodes, value = state.nodes, state.nodes[node, MAJOR]
    fingers[group, MOVES] += 1
    if fingers[group, MOVES] > FEW_MOVES:
        return
    for at in range(FIRST_FINGER, fingers.shape[1], FINGER_FIELDS):
        finger = fingers[group, at + NODE]
        if finger == 0:
            continue
        if finger == node:
            if is_gone:
                after = order.neighbours[node, NEXT_NODE]
                fingers[group, at + NODE], fingers[group, at + VALUE] = after, nodes[after, MAJOR]
        elif value == fingers[group, at + VALUE]:  # of two that are wide
            if is_before(nodes, state.beside, node, finger, sets, strings.starts, strings.lengths, strings.heap):
                fingers[group, at + BEFORE] += change
        elif value < fingers[group, at + VALUE]:
            fingers[group, at + BEFORE] += change


# Figures.


@kernel
def _find_figures(group: int, order: Order) -> None:
    """What every figure of a group is."""
    figures, found, fingers, nodes, sets = order.figures, order.found, order.fingers, order.state.nodes, order.facts.sets
    root = order.state.cells[group, sets[0, SET_CELL]]
    count = nodes[root, SUM]
    if fingers[group, MOVES] > FEW_MOVES:
        _forget_fingers(group, fingers)
    fingers[group, MOVES] = 0
    for figure in range(len(figures)):
        kind = figures[figure, KIND]
        found[figure, IS_NULL] = root == 0 and kind > COUNT_VALUES
        if kind == COUNT_ROWS:
            found[figure, LOW] = order.state.cells[group, ROWS]
        elif kind == COUNT_VALUES:
            found[figure, LOW] = count
        elif root == 0:
            found[figure, LOW] = found[figure, HIGH] = 0
        elif kind == DISCRETE:
            numerator, denominator, is_descending = _fraction(figures, figure)
            node = _find_place(group, figure, root, rank_of_fraction(numerator, denominator, is_descending, count), order)
            found[figure, LOW], found[figure, HIGH] = value_of(nodes, node, sets)
        else:
            found[figure, LOW] = _between(group, figure, root, count, order)


@inlined
def _fraction(figures: Int64s, figure: int) -> tuple[int, int, int]:
    return figures[figure, NUMERATOR], figures[figure, DENOMINATOR], figures[figure, IS_DESCENDING]


@kernel
def _between(group: int, figure: int, root: int, count: int, order: Order) -> int:
    """The bits of a percentile that may lie between two values."""
    facts, nodes = order.facts, order.state.nodes
    numerator, denominator, _ = _fraction(order.figures, figure)
    spot = numerator * (count - 1)
    rank, rest = spot // denominator, spot % denominator
    node = _find_place(group, figure, root, rank, order)
    after = node
    if rest:
        before = order.fingers[group, FIRST_FINGER + figure * FINGER_FIELDS + BEFORE]
        if rank + 1 >= before + nodes[node, COUNT]:
            after = order.neighbours[node, NEXT_NODE]
    scale = order.figures[figure, SCALE]
    return between_nodes(nodes, node, after, rest, denominator, scale, facts.sets, 0, facts.spare, facts.limbs)


@kernel
def _find_place(group: int, figure: int, root: int, rank: int, order: Order) -> int:
    """The node of the row of that rank, counted from 0, a few steps from the finger or from the root; the finger is put there."""
    fingers, neighbours, nodes = order.fingers, order.neighbours, order.state.nodes
    at, steps = FIRST_FINGER + figure * FINGER_FIELDS, 0
    node, before = fingers[group, at + NODE], fingers[group, at + BEFORE]
    while node and rank < before and steps < FEW_STEPS:
        node = neighbours[node, PREVIOUS_NODE]
        before -= nodes[node, COUNT]
        steps += 1
    while node and rank >= before + nodes[node, COUNT] and steps < FEW_STEPS:
        before += nodes[node, COUNT]
        node = neighbours[node, NEXT_NODE]
        steps += 1
    if node == 0 or rank < before or rank >= before + nodes[node, COUNT]:
        node, before = _find_from_root(nodes, root, rank)
    fingers[group, at + NODE], fingers[group, at + BEFORE], fingers[group, at + VALUE] = node, before, nodes[node, MAJOR]
    return node


@kernel
def _find_from_root(nodes: Int64s, root: int, rank: int) -> tuple[int, int]:
    """The node of the row of that rank, and how many rows are before it; the caller knows that there is one."""
    node, before = root, 0
    while True:
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        here, stop = before + nodes[left, SUM], before + nodes[node, SUM] - nodes[right, SUM]
        if rank < here:
            node = left
        elif rank < stop:
            return node, here
        else:
            node, before = right, stop


@inlined
def _forget_fingers(group: int, fingers: Int64s) -> None:
    for at in range(fingers.shape[1]):
        fingers[group, at] = 0


# What taps show.


@kernel
def _show_touched(now: int, is_shown: bool, order: Order, given: Given) -> bool:
    """Write what touched groups change, as far as there is room; whether there was."""
    registers, cells, taps, work = order.state.registers, order.state.cells, order.taps, order.work
    widest = _lanes_of_all(taps)
    group = registers[TOUCHED_GROUP]
    while group != LAST:
        has_room = work[WRITTEN] + 2 * len(taps) <= len(given.changes) and work[WRITTEN_LANES] + 2 * widest <= len(given.lanes)
        if is_shown and not has_room:
            break
        following = cells[group, LINK]
        cells[group, LINK] = 0
        if is_shown:
            _show(group, now, order, given)
        group = following
    registers[TOUCHED_GROUP] = group
    return group == LAST


@inlined
def _lanes_of_all(taps: Int64s) -> int:
    lanes = 0
    for tap in range(len(taps)):
        lanes += open_tap(taps[tap]).shape[WIDTH]
    return lanes


@kernel
def _show(group: int, now: int, order: Order, given: Given) -> None:
    """Write the changes of a group's row for every tap that shows another one from now on."""
    state, keys = order.state, len(order.facts.keys)
    if state.cells[group, ROWS] == 0 and keys:
        for tap in range(len(order.taps)):
            own = open_tap(order.taps[tap])
            if own.lines[group, IS_SHOWN]:
                _give(tap, group, -1, now, own, order.work, given)
                own.lines[group, IS_SHOWN] = 0
        _forget_fingers(group, order.fingers)
        forget_group(group, state.registers, state.table, state.cells, state.lines)
        return
    _find_figures(group, order)
    for tap in range(len(order.taps)):
        own = open_tap(order.taps[tap])
        if not own.lines[group, IS_SHOWN]:
            _write_row(group, own, order)
            own.lines[group, IS_SHOWN] = 1
            _give(tap, group, 1, now, own, order.work, given)
        elif _is_other(group, own, order.found):
            _give(tap, group, -1, now, own, order.work, given)
            _write_row(group, own, order)
            _give(tap, group, 1, now, own, order.work, given)


@inlined
def _is_other(group: int, own: Tap, found: Int64s) -> bool:
    """Whether a tap does not show what was found."""
    for column in range(len(own.columns)):
        figure, lane = own.columns[column, FIGURE], own.columns[column, LANE]
        if own.lines[group, ROW + lane] != found[figure, LOW]:
            return True
        if own.columns[column, LANES] == 2 and own.lines[group, ROW + lane + 1] != found[figure, HIGH]:
            return True
        was_null = own.lines[group, ROW + own.columns[column, MASK]] >> own.columns[column, BIT] & 1
        if was_null != found[figure, IS_NULL]:
            return True
    return False


@inlined
def _write_row(group: int, own: Tap, order: Order) -> None:
    """The row that a tap shows: the key of a group, and its figures."""
    keys, lines, key_bits = order.facts.keys, order.state.lines, order.facts.key_bits
    for lane in range(len(keys)):
        own.lines[group, ROW + lane] = lines[group, lane]
    for mask in range(own.shape[WIDTH] - own.shape[VALUES]):
        own.lines[group, ROW + own.shape[VALUES] + mask] = (
            lines[group, lines.shape[1] - len(key_bits) + mask] & key_bits[mask] if mask < len(key_bits) else 0
        )
    for column in range(len(own.columns)):
        figure, lane = own.columns[column, FIGURE], own.columns[column, LANE]
        own.lines[group, ROW + lane] = order.found[figure, LOW]
        if own.columns[column, LANES] == 2:
            own.lines[group, ROW + lane + 1] = order.found[figure, HIGH]
        own.lines[group, ROW + own.columns[column, MASK]] |= order.found[figure, IS_NULL] << own.columns[column, BIT]


@inlined
def _give(tap: int, group: int, weight: int, now: int, own: Tap, work: Int64s, given: Given) -> None:
    """Write down that the row which a tap shows of a group comes, or goes."""
    number, at = work[WRITTEN], work[WRITTEN_LANES]
    given.changes[number, TAP], given.changes[number, INSTANT] = tap, now
    given.changes[number, WEIGHT], given.changes[number, AT] = weight, at
    for lane in range(own.shape[WIDTH]):
        given.lanes[at + lane] = own.lines[group, ROW + lane]
    work[WRITTEN], work[WRITTEN_LANES] = number + 1, at + own.shape[WIDTH]


@kernel
def count_by_tap(written: int, changes: Int64s, counts: Int64s) -> None:
    for number in range(written):
        counts[changes[number, TAP]] += 1


@kernel
def hand_out(
    written: int, changes: Int64s, lanes: Int64s, widths: Int64s, places: Int64s, lane_places: Int64s, out_lanes: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> None:
    """Sort what taps gave by tap; `places` and `lane_places` say where those of each begin."""
    for number in range(written):
        tap, at = changes[number, TAP], changes[number, AT]
        place, lane_place = places[tap], lane_places[tap]
        out_ts[place], out_weight[place] = changes[number, INSTANT], changes[number, WEIGHT]
        for lane in range(widths[tap]):
            out_lanes[lane_place + lane] = lanes[at + lane]
        places[tap], lane_places[tap] = place + 1, lane_place + widths[tap]


@kernel
def find_crowded(ts: Int64s, weight: Int64s, begins: Int64s) -> int:
    """Where instants begin at which more changed than one group; the answer is how many there are."""
    count, first = 0, 0
    for i in range(1, len(ts) + 1):
        if i == len(ts) or ts[i] != ts[first]:
            if i - first > 2 or (i - first == 2 and weight[first] > 0):
                begins[count] = first
                count += 1
            first = i
    return count


@kernel
def show_all(tap: int, record: Int64s) -> None:
    """Let a new tap show all groups that there are, as if it had shown them before."""
    order = open_order(record)
    own, table = open_tap(order.taps[tap]), order.state.table
    for slot in range(len(table)):
        group = table[slot] & HALF
        if group:
            _find_figures(group, order)
            _write_row(group, own, order)
            own.lines[group, IS_SHOWN] = 1
