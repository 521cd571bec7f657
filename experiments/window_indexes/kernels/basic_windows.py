"""A sliding window as a circular array of basic windows, and an index that counts its values.

    slot      0    1    2   …   n          n closed basic windows and the open one: lists of items, one for every bucket
    LIST      an item for every tuple, the newest first
    AGGR      an item for every value, sorted, with its count
    HASH      the same in buckets

An item is linked with its node on arrival. Counts change when a basic window closes: those of the newest are added, those of the
oldest subtracted, by walking their items. Nodes at zero stay until they are purged: by a sweep every so many
tuples, or by a list.
"""

from __future__ import annotations

from typing import NamedTuple

from experiments.window_indexes.kernels.index import (
    COUNT,
    PENDING,
    PURGE_EVERY,
    SINCE_PURGE,
    SLOT,
    STEPS,
    USED_NODES,
    VALUE,
    ZERO,
    ZEROS,
    Index,
    find,
    first_in_order,
    next_in_order,
    remove,
)
from experiments.window_indexes.kernels.sorting import merge_runs
from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel

ITEM_VALUE, ITEM_COUNT, ITEM_NODE, ITEM_NEXT, ITEM_LANES = 0, 1, 2, 3, 4
CLOSED, FREE_ITEM, USED_ITEMS, LIVE_ITEMS, WINDOW_STEPS, WINDOW_REGISTERS = range(6)  # of every side, one after the other
LENGTH, IS_COUNTED, ITEM_BUCKETS, HAS_INDEX, PARTS, HAS_ZERO_LIST, WINDOW_OPTIONS = range(7)
NO_QUERY, HISTOGRAM, SORT, MERGE, INTERSECT = range(5)  # what is asked after every basic window


class Windows(NamedTuple):
    """One window, or two over one index."""

    options: Line
    registers: Lines
    heads: Lines  # of lists of items: a line for every side
    items: Lines
    lookup: Index


class Answer(NamedTuple):
    """Room for values with their counts, twice, and the ends of sorted runs; how many there are is the first of `sizes`."""

    values: Line
    counts: Line
    other_values: Line
    other_counts: Line
    ends: Line
    sizes: Line


open_windows, open_answer = opened(Windows), opened(Answer)


@inlined
def _part(window: int, windows: Windows) -> int:
    """The part of a split index that the items of a basic window are in."""
    parts, length = windows.options[PARTS], windows.options[LENGTH]
    if parts == 1:
        return 0
    return (window // ((length + parts - 1) // parts)) % (parts + 1)


@kernel
def _take_item(value: int, side: int, windows: Windows) -> int:
    registers, items = windows.registers, windows.items
    item = registers[0, FREE_ITEM]
    if item:
        registers[0, FREE_ITEM] = items[item, ITEM_NEXT]
    else:
        registers[0, USED_ITEMS] += 1
        item = registers[0, USED_ITEMS]
    registers[0, LIVE_ITEMS] += 1
    items[item, ITEM_VALUE], items[item, ITEM_COUNT], items[item, ITEM_NODE] = value, 1, 0
    if windows.options[HAS_INDEX]:
        node = find(value, _part(registers[side, CLOSED], windows), windows.lookup)
        windows.lookup.nodes[node, PENDING] += 1
        items[item, ITEM_NODE] = node
    return item


@kernel
def _insert(value: int, side: int, windows: Windows) -> None:
    options, heads, items, registers = windows.options, windows.heads, windows.items, windows.registers
    buckets = options[ITEM_BUCKETS]
    head = (registers[side, CLOSED] % (options[LENGTH] + 1)) * buckets
    windows.lookup.registers[SINCE_PURGE] += 1
    if not options[IS_COUNTED]:
        item = _take_item(value, side, windows)
        items[item, ITEM_NEXT] = heads[side, head]
        heads[side, head] = item
        return
    head += value % buckets
    before, item, steps = 0, heads[side, head], 1
    while item and items[item, ITEM_VALUE] < value:
        before, item = item, items[item, ITEM_NEXT]
        steps += 1
    registers[0, WINDOW_STEPS] += steps
    if item and items[item, ITEM_VALUE] == value:
        items[item, ITEM_COUNT] += 1
        return
    made = _take_item(value, side, windows)
    items[made, ITEM_NEXT] = item
    if before:
        items[before, ITEM_NEXT] = made
    else:
        heads[side, head] = made


@kernel
def _count_newest(side: int, head: int, windows: Windows) -> None:
    items, nodes = windows.items, windows.lookup.nodes
    for bucket in range(windows.options[ITEM_BUCKETS]):
        item = windows.heads[side, head + bucket]
        while item:
            node = items[item, ITEM_NODE]
            nodes[node, COUNT + side] += items[item, ITEM_COUNT]
            nodes[node, PENDING] -= 1
            item = items[item, ITEM_NEXT]
            windows.registers[0, WINDOW_STEPS] += 1


@kernel
def _forget_oldest(side: int, head: int, windows: Windows) -> None:
    items, nodes, registers, index = windows.items, windows.lookup.nodes, windows.registers, windows.lookup
    for bucket in range(windows.options[ITEM_BUCKETS]):
        item = windows.heads[side, head + bucket]
        windows.heads[side, head + bucket] = 0
        while item:
            if windows.options[HAS_INDEX]:
                node = items[item, ITEM_NODE]
                nodes[node, COUNT + side] -= items[item, ITEM_COUNT]
                is_zero = nodes[node, COUNT] == 0 and nodes[node, COUNT + 1] == 0
                if is_zero and windows.options[HAS_ZERO_LIST] and nodes[node, ZERO] == 0:
                    nodes[node, ZERO] = index.registers[ZEROS] + 1
                    index.registers[ZEROS] = node
            following = items[item, ITEM_NEXT]
            items[item, ITEM_NEXT] = registers[0, FREE_ITEM]
            registers[0, FREE_ITEM] = item
            registers[0, LIVE_ITEMS] -= 1
            registers[0, WINDOW_STEPS] += 1
            item = following


@inlined
def _is_unused(node: int, nodes: Int64s) -> bool:
    return nodes[node, COUNT] == 0 and nodes[node, COUNT + 1] == 0 and nodes[node, PENDING] == 0


@kernel
def purge(windows: Windows) -> None:
    """Nodes that count nothing and that nobody links to go: those of the list, or all that a sweep finds."""
    index, nodes = windows.lookup, windows.lookup.nodes
    if windows.options[HAS_ZERO_LIST]:
        while index.registers[ZEROS]:
            node = index.registers[ZEROS]
            index.registers[ZEROS] = nodes[node, ZERO] - 1
            nodes[node, ZERO] = 0
            if _is_unused(node, nodes):
                remove(node, index)
    else:
        for node in range(1, index.registers[USED_NODES] + 1):
            if nodes[node, SLOT] >= 0 and _is_unused(node, nodes):
                remove(node, index)
    index.registers[SINCE_PURGE] = 0


@kernel
def _close(side: int, windows: Windows) -> None:
    """The open basic window becomes the newest, and the oldest one goes where there are too many."""
    options, registers = windows.options, windows.registers
    slots, closed = options[LENGTH] + 1, registers[side, CLOSED]
    if options[HAS_INDEX]:
        _count_newest(side, (closed % slots) * options[ITEM_BUCKETS], windows)
    registers[side, CLOSED] = closed + 1
    _forget_oldest(side, ((closed + 1) % slots) * options[ITEM_BUCKETS], windows)
    index = windows.lookup
    if options[HAS_INDEX] and (options[HAS_ZERO_LIST] or index.registers[SINCE_PURGE] >= index.options[PURGE_EVERY]):
        purge(windows)


@kernel
def dump_nodes(side: int, windows: Windows, answer: Answer) -> int:
    """The values that count, a sorted run for every head; how many runs."""
    index, n, runs = windows.lookup, 0, 0
    for slot in range(len(index.heads)):
        node, depth = first_in_order(slot, index)
        before = n
        while node:
            if index.nodes[node, COUNT + side]:
                answer.values[n], answer.counts[n] = index.nodes[node, VALUE], index.nodes[node, COUNT + side]
                n += 1
            node, depth = next_in_order(node, depth, index)
        if n > before:
            answer.ends[runs] = n
            runs += 1
    answer.sizes[0] = n
    return runs


@kernel
def dump_items(side: int, windows: Windows, answer: Answer) -> int:
    """The items of closed basic windows: a run for every sorted list, or one for every tuple."""
    options, items, n, runs = windows.options, windows.items, 0, 0
    slots, closed = options[LENGTH] + 1, windows.registers[side, CLOSED]
    for slot in range(slots):
        if slot == closed % slots:
            continue
        for bucket in range(options[ITEM_BUCKETS]):
            item, before = windows.heads[side, slot * options[ITEM_BUCKETS] + bucket], n
            while item:
                answer.values[n], answer.counts[n] = items[item, ITEM_VALUE], items[item, ITEM_COUNT]
                n += 1
                item = items[item, ITEM_NEXT]
                if not options[IS_COUNTED]:
                    answer.ends[runs] = n
                    runs += 1
            if options[IS_COUNTED] and n > before:
                answer.ends[runs] = n
                runs += 1
    answer.sizes[0] = n
    return runs


@kernel
def intersect(windows: Windows, answer: Answer) -> None:
    """Values of both windows, in no order."""
    nodes, n = windows.lookup.nodes, 0
    for node in range(1, windows.lookup.registers[USED_NODES] + 1):
        if nodes[node, SLOT] >= 0 and nodes[node, COUNT] and nodes[node, COUNT + 1]:
            answer.values[n], answer.counts[n] = nodes[node, VALUE], nodes[node, COUNT]
            n += 1
    answer.sizes[0] = n


@kernel
def _ask(query: int, side: int, windows: Windows, answer: Answer) -> None:
    if query == INTERSECT:
        intersect(windows, answer)
    elif query != NO_QUERY:
        runs = dump_nodes(side, windows, answer) if query == HISTOGRAM else dump_items(side, windows, answer)
        merge_runs(runs, answer.values, answer.counts, answer.other_values, answer.other_counts, answer.ends, answer.sizes)


@kernel
def insert(values: Int64s, side: int, record: Int64s) -> None:
    """Tuples for the open basic window of one side."""
    windows = open_windows(record)
    for i in range(len(values)):
        _insert(values[i], side, windows)


@kernel
def close(side: int, record: Int64s) -> None:
    _close(side, open_windows(record))


@kernel
def ask(query: int, side: int, record: Int64s, answer_record: Int64s) -> None:
    _ask(query, side, open_windows(record), open_answer(answer_record))


@kernel
def advance(values: Int64s, size: int, query: int, record: Int64s, answer_record: Int64s) -> None:
    """Basic windows of so many tuples for every side, a line of values each; the query is asked after every one."""
    windows, answer = open_windows(record), open_answer(answer_record)
    for start in range(0, values.shape[1], size):
        for side in range(len(values)):
            for i in range(start, start + size):
                _insert(values[side, i], side, windows)
            _close(side, windows)
        _ask(query, 0, windows, answer)


@kernel
def purge_now(record: Int64s) -> None:
    purge(open_windows(record))


@kernel
def steps(record: Int64s) -> int:
    """Nodes and items that were looked at."""
    windows = open_windows(record)
    return windows.lookup.registers[STEPS] + windows.registers[0, WINDOW_STEPS]
