"""Room for output: as much as is likely, within limits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sash.deltas import MOST_SHARED, Delta, forever
from sash.operators import output_chunks
from sash.operators.output_chunks import MOST, ROOM, SMALLEST, FanoutEstimate, OutputChunks
from sash.schema import FOREVER


def test_nothing_is_known_before_the_first_rows() -> None:
    expected = FanoutEstimate()
    assert expected.of(1_000) == 0
    expected.observe(0, 50)  # by time alone
    assert expected.of(1_000) == 0


def test_larger_steps_give_more() -> None:
    expected = FanoutEstimate()
    expected.observe(100, 250)
    assert [expected.of(rows) for rows in (0, 4, 100, 10_000)] == [0, 15, 375, 37_500]


def test_a_few_rows_with_many_changes_do_not_take_all_memory() -> None:
    expected = FanoutEstimate()
    expected.observe(1, 10_000)
    assert expected.of(1 << 30) == ROOM
    expected.observe(1, 3 * ROOM)
    assert expected.of(1 << 30) == 6 * ROOM
    assert expected.in_parts(1 << 30) == MOST and expected.in_parts(0) == 0


@pytest.mark.parametrize("guess", [0, 300])
def test_what_does_not_fit_goes_to_further_pieces(guess: int) -> None:
    pieces, written = OutputChunks(1, guess), 0
    for _ in range(5):
        piece = pieces.next()
        rows, ts, _, weight = piece.room
        rows[:, 0], ts[:], weight[:] = range(written, written + len(ts)), 7, 1
        piece.add(len(ts))
        written += len(ts)
    changes = pieces.delta()
    assert (changes.expiry == FOREVER).all()
    assert changes.rows[:, 0].tolist() == list(range(written)) and written == 31 * max(guess, SMALLEST)


def written(pieces: OutputChunks, instants: Sequence[int]) -> None:
    for ts in instants:
        piece = pieces.next()
        piece.room[1][0], piece.room[3][0] = ts, 1
        piece.add(1)


def test_whole_instants_leave_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last instant more may come, so it stays; an instant that fills everything stays as a whole."""
    monkeypatch.setattr(output_chunks, "MOST", 4)
    pieces = OutputChunks(1, 0)
    written(pieces, [5, 5, 5])
    assert not pieces.are_many
    written(pieces, [5])
    assert pieces.are_many and pieces.take_whole_instants() is None
    written(pieces, [6, 8, 8])
    part = pieces.take_whole_instants()
    assert part is not None and part[0].ts.tolist() == [5, 5, 5, 5, 6] and part[1] == 8
    assert not pieces.are_many and pieces.given == 5
    written(pieces, [8, 9])
    pieces.next(3)  # into which nothing is written
    part = pieces.take_whole_instants()
    assert part is not None and part[0].ts.tolist() == [8, 8, 8] and part[1] == 9
    written(pieces, [9])
    assert pieces.delta().ts.tolist() == [9, 9]


def test_signed_changes_share_their_expiries() -> None:
    one, two = Delta.room(1_000, 2), Delta.room(900, 1)
    assert one.expiry.base is two.expiry.base and one.expiry.tolist() == [FOREVER] * 1_000
    own = Delta.room(1_000, 2, expires=True)
    assert own.expiry.base is None and len(own.expiry) == 1_000
    assert (forever(MOST_SHARED + 1) == FOREVER).all() and forever(0).tolist() == []
