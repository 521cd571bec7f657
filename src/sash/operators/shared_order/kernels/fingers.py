"""Values are put in order at the end of an instant, and figures are found among them, a step or two from their fingers."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.operators.group_by.kernels.percentiles import between_nodes, rank_of_fraction
from sash.operators.group_by.kernels.ranks import LEFT, RIGHT, SUM, own_rows, settle_rank
from sash.operators.group_by.kernels.registers import LAST, TOUCHED_NODE
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
    DISCRETE,
    ROWS,
    SET_CELL,
)
from sash.operators.shared_order.kernels.records import (
    BEFORE,
    COUNT_ROWS,
    COUNT_VALUES,
    DENOMINATOR,
    FEW_MOVES,
    FEW_STEPS,
    FINGER_FIELDS,
    FIRST_FINGER,
    HIGH,
    IS_DESCENDING,
    IS_NULL,
    KIND,
    LOW,
    MOVES,
    NEXT_NODE,
    NODE,
    NUMERATOR,
    PREVIOUS_NODE,
    SCALE,
    VALUE,
    Order,
)


@kernel
def settle(order: Order) -> None:
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


@kernel
def find_figures(group: int, order: Order) -> None:
    """What every figure of a group is."""
    figures, found, fingers, nodes, sets = order.figures, order.found, order.fingers, order.state.nodes, order.facts.sets
    root = order.state.cells[group, sets[0, SET_CELL]]
    count = nodes[root, SUM]
    if fingers[group, MOVES] > FEW_MOVES:
        forget_fingers(group, fingers)
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
def forget_fingers(group: int, fingers: Int64s) -> None:
    for at in range(fingers.shape[1]):
        fingers[group, at] = 0
