"""A join of two streams that serves many windows, turn by turn.

Tuples are numbered as they arrive, those of both streams together. Older tuples are never behind newer ones, so the queues of
the paper are frontiers over these numbers, one for every window:

    through[k]   all tuples before this one are through with window k
    queue k      tuples from through[k] on, up to through[k - 1] (to the last arrival for k = 0): they wait to scan window k

    number   …  7  8  9 10 11 12 13 | arrivals end
                ^        ^     ^
       through[2]  through[1]  through[0]          queue 2: 7 8 9   queue 1: 10 11   queue 0: 12 13

A turn takes the head of a queue k, which scans on from where it stopped as far as window k reaches. The three schedules differ
in which queue that is:

    LWO    the last that is not empty: the oldest tuple goes on to the end
    SWF    the first
    MQT    the one whose head serves most queries for its time (`matrix`), the first of them where several do; or the last of them

A pair found for window k belongs to all windows from k on. It is released to window i when all older tuples are through with i.
Where tuples wait for themselves (SWF), it is released when its own tuple is through with i, too. Until it is released to the
last window it is held, in a chain of its tuple; a chain is made of pieces, each as long as two lines of the cache.

A bucket is a list of tuples whose keys hash alike, from old to new; nested loops are a join with one bucket. Its list lies in
one piece, for which room is counted beforehand: where tuples lie is not what the schedules are about.

The clock moves by `cost` for every tuple that is looked at; or, if `speed` is not 0, by the cycles that a turn really took
times `speed`.
"""

from __future__ import annotations

from typing import NamedTuple

from experiments.cycles import cycles
from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel

LWO, SWF, MQT, MQT_OLDEST = 0, 1, 2, 3  # schedules

# What a run is told.
SCHEDULE, IS_EARLY, COST, SPEED, FIRST, ROOM, OPTIONS = range(7)
# What it tells: time, arrivals, work, and how full its buffers were.
NOW, TAIL, PROBES, TURNS, PAIRS, BUSY, HELD, MOST_HELD, MOST_WAITING, INTERRUPTED, FREE, USED, REGISTERS = range(13)
COUNT, SUM, MOST, ROUTED, TOLD = 0, 1, 2, 3, 4  # of a window: its pairs, their response times, the longest, pairs written

CURSOR, PAIR_FIRST, PAIR_LAST, FOUND, WAYS = 0, 1, 2, 3, 4  # of a tuple on its way
FOLLOWING, SIZE, PARTNERS, PIECE = 0, 1, 2, 16  # of a piece of a chain of pairs
ROOM_OF_PIECE = PIECE - PARTNERS
NOBODY = -1
LONGEST_TURN, LONGEST_PROBE = 15_000, 600  # cycles; who takes longer was interrupted by the machine


class Streams(NamedTuple):
    """Tuples of both streams in the order of their arrival."""

    ts: Line
    side: Line
    key: Line


# A tuple as a scan meets it, beside the others of its bucket.
TS, KEY, NUMBER, LANES = 0, 1, 2, 4


class Join(NamedTuple):
    """Its state. `lines` and `ways` have a line for every tuple, `held` for every piece of a chain."""

    options: Line
    registers: Line
    windows: Line
    matrix: Lines  # MaxQT, scaled to whole numbers of the same order
    through: Line
    lines: Lines
    starts: Lines  # where a bucket of a side begins among the lines
    ends: Lines
    ways: Lines
    held: Lines
    found: Line  # partners of one turn
    told: Lines  # by window
    outputs: Lines  # tuple and partner, a ring for every window one after the other


open_streams, open_join = opened(Streams), opened(Join)


@inlined
def _arrive(t: int, streams: Streams, join: Join) -> None:
    """A tuple remembers the newest partner that is there, and becomes the newest of its own side."""
    side, bucket = streams.side[t], streams.key[t] % join.ends.shape[1]
    line = join.ends[side, bucket]
    join.lines[line, TS], join.lines[line, KEY], join.lines[line, NUMBER] = streams.ts[t], streams.key[t], t
    join.ends[side, bucket] += 1
    join.ways[t, CURSOR] = join.ends[1 - side, bucket]
    join.ways[t, PAIR_FIRST] = join.ways[t, PAIR_LAST] = NOBODY
    join.ways[t, FOUND] = 0


@inlined
def _scan(t: int, limit: int, streams: Streams, join: Join) -> tuple[int, int, int, int]:
    """Partners later than a limit, from the cursor back: looked at, found, the sum of the places of those found, the last
    place."""
    lines, found, key, side = join.lines, join.found, streams.key[t], streams.side[t]
    start = join.starts[1 - side, key % join.starts.shape[1]]
    line, probes, count, places, last = join.ways[t, CURSOR], 0, 0, 0, 0
    while line > start and lines[line - 1, TS] > limit:
        line -= 1
        probes += 1
        if lines[line, KEY] == key:
            found[count] = lines[line, NUMBER]
            count += 1
            places += probes
            last = probes
    join.ways[t, CURSOR] = line
    return probes, count, places, last


@inlined
def _take_piece(registers: Int64s, held: Int64s) -> int:
    if registers[FREE]:
        piece = registers[FREE] - 1
        registers[FREE] = held[piece, FOLLOWING] + 1
    else:
        piece = registers[USED]
        registers[USED] += 1
    held[piece, FOLLOWING], held[piece, SIZE] = NOBODY, 0
    return piece


@inlined
def _hold(t: int, count: int, join: Join) -> None:
    """Chain the pairs of a turn behind those that its tuple has."""
    registers, held, ways = join.registers, join.held, join.ways
    piece = ways[t, PAIR_LAST]
    for i in range(count):
        if piece == NOBODY or held[piece, SIZE] == ROOM_OF_PIECE:
            following = _take_piece(registers, held)
            if piece == NOBODY:
                ways[t, PAIR_FIRST] = following
            else:
                held[piece, FOLLOWING] = following
            piece = ways[t, PAIR_LAST] = following
        held[piece, PARTNERS + held[piece, SIZE]] = join.found[i]
        held[piece, SIZE] += 1
    registers[HELD] += count
    registers[MOST_HELD] = max(registers[MOST_HELD], registers[HELD])


@inlined
def _let_go(t: int, join: Join) -> None:
    """What a tuple held is free again."""
    registers, ways = join.registers, join.ways
    if ways[t, PAIR_FIRST] != NOBODY:
        join.held[ways[t, PAIR_LAST], FOLLOWING] = registers[FREE] - 1
        registers[FREE] = ways[t, PAIR_FIRST] + 1
        ways[t, PAIR_FIRST] = ways[t, PAIR_LAST] = NOBODY
        registers[HELD] -= ways[t, FOUND]


@inlined
def _write(t: int, partner: int, window: int, join: Join) -> None:
    """Without room for outputs nothing is written: the simulated clock has no use for it."""
    room = join.options[ROOM]
    if room:
        place = window * room + (join.told[window, ROUTED] & (room - 1))
        join.outputs[place, 0], join.outputs[place, 1] = t, partner
        join.told[window, ROUTED] += 1


@inlined
def _route_held(t: int, window: int, join: Join) -> None:
    piece = join.ways[t, PAIR_FIRST] if join.options[ROOM] else NOBODY
    while piece != NOBODY:
        for i in range(join.held[piece, SIZE]):
            _write(t, join.held[piece, PARTNERS + i], window, join)
        piece = join.held[piece, FOLLOWING]


@inlined
def _tell(window: int, count: int, total: int, most: int, told: Int64s) -> None:
    if count:
        told[window, COUNT] += count
        told[window, SUM] += total
        told[window, MOST] = max(told[window, MOST], most)


@inlined
def _choose(join: Join) -> int:
    """The queue whose head has its turn, or nobody."""
    through, schedule, last = join.through, join.options[SCHEDULE], len(join.windows) - 1
    if schedule == SWF:
        before = join.registers[TAIL]
        for k in range(last + 1):
            if through[k] < before:
                return k
        return NOBODY
    best, chosen, ahead = -1, NOBODY, last + 1
    for back in range(last + 1):
        k = last - back
        before = through[k - 1] if k else join.registers[TAIL]
        if through[k] < before:
            if schedule == LWO:
                return k
            value = join.matrix[k, ahead]
            if value > best or (value == best and schedule == MQT):
                best, chosen = value, k
            ahead = k
    return chosen


@inlined
def _spent(started: int, probes: int, join: Join) -> int:
    """How long a turn took, by the clock of the run."""
    options, registers = join.options, join.registers
    if options[SPEED] == 0:
        return probes * options[COST]
    took, longest = cycles() - started, LONGEST_TURN + LONGEST_PROBE * probes
    if took > longest:
        registers[INTERRUPTED] += 1
        took = longest
    return took * options[SPEED] // 1000


@inlined
def _turn(k: int, streams: Streams, join: Join) -> None:
    through, ways, registers, last = join.through, join.ways, join.registers, len(join.windows) - 1
    t, is_early = through[k], join.options[IS_EARLY]
    started = cycles() if join.options[SPEED] else 0
    probes, count, places, last_place = _scan(t, streams.ts[t] - join.windows[k], streams, join)
    earlier_found = ways[t, FOUND]
    ways[t, FOUND] += count
    if is_early:
        for window in range(k, last + 1):
            if through[window] == t:
                for i in range(count):
                    _write(t, join.found[i], window, join)
    is_first = through[last] == t
    if not (is_early and is_first):
        _hold(t, count, join)
    follower = t + 1
    is_followed = is_early and follower < registers[TAIL]
    if not is_early:
        _route_held(t, k, join)
    elif is_followed:
        _route_held(follower, k, join)

    begun = registers[NOW]
    spent = _spent(started, probes, join)
    registers[NOW] += spent
    registers[BUSY] += spent
    now = registers[NOW]
    if is_early and count:
        step = spent // probes
        total, most = count * (begun - streams.ts[t]) + places * step, begun - streams.ts[t] + last_place * step
        for window in range(k, last + 1):
            if through[window] == t:
                _tell(window, count, total, most, join.told)
    if not is_early:
        waited = now - streams.ts[t]
        _tell(k, earlier_found + count, (earlier_found + count) * waited, waited, join.told)
    elif is_followed:
        waited = now - streams.ts[follower]
        _tell(k, ways[follower, FOUND], ways[follower, FOUND] * waited, waited, join.told)
    through[k] += 1
    if k == last:
        if not is_early:
            _let_go(t, join)
        elif is_followed:
            _let_go(follower, join)
    registers[TURNS] += 1
    registers[PROBES] += probes
    registers[PAIRS] += count


@kernel
def run_join(streams_record: Int64s, join_record: Int64s) -> None:
    """All tuples arrive at their instants and go through all windows. Those before FIRST are there when it begins."""
    streams, join = open_streams(streams_record), open_join(join_record)
    registers, last = join.registers, len(join.windows) - 1
    tail, end = 0, len(streams.ts)
    while tail < join.options[FIRST]:
        _arrive(tail, streams, join)
        tail += 1
    for k in range(last + 1):
        join.through[k] = tail
    registers[TAIL] = tail
    while join.through[last] < end:
        while tail < end and streams.ts[tail] <= registers[NOW]:
            _arrive(tail, streams, join)
            tail += 1
        registers[TAIL] = tail
        registers[MOST_WAITING] = max(registers[MOST_WAITING], tail - join.through[last])
        k = _choose(join)
        if k == NOBODY:
            registers[NOW] = max(registers[NOW], streams.ts[tail])
        else:
            _turn(k, streams, join)
