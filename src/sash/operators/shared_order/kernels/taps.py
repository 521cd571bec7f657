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

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF
from sash.operators.group_by.kernels.groups import (
    feed_row,
    find_group,
    forget_group,
    look_ahead,
    tag_rows_by_key,
)
from sash.operators.group_by.kernels.registers import LAST, LIVE_GROUPS, LIVE_NODES, TOUCHED_GROUP, TOUCHED_NODE
from sash.operators.group_by.opcodes import (
    LINK,
    ROWS,
)
from sash.operators.shared_order.kernels.fingers import (
    find_figures,
    forget_fingers,
    settle,
)
from sash.operators.shared_order.kernels.records import (
    AT,
    BIT,
    FIGURE,
    HIGH,
    INSTANT,
    IS_NULL,
    IS_SHOWN,
    LANE,
    LANES,
    LOW,
    MASK,
    ROW,
    TAP,
    VALUES,
    WEIGHT,
    WIDTH,
    WRITTEN,
    WRITTEN_LANES,
    Given,
    Order,
    Tap,
    open_order,
    open_tap,
)


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
                settle(order)
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
        forget_fingers(group, order.fingers)
        forget_group(group, state.registers, state.table, state.cells, state.lines)
        return
    find_figures(group, order)
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
            find_figures(group, order)
            _write_row(group, own, order)
            own.lines[group, IS_SHOWN] = 1
