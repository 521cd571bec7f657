"""Room for output: as much as is likely, within limits."""

from __future__ import annotations

import pytest

from sash.deltas import MOST_SHARED, Delta, forever
from sash.operators.output_chunks import MOST, SMALLEST, FanoutEstimate, OutputChunks
from sash.schema import FOREVER


def test_nothing_is_known_before_the_first_rows() -> None:
    expected = FanoutEstimate()
    assert expected.of(1_000) == 0
    expected.observe(0, Delta.room(50, 1))  # by time alone
    assert expected.of(1_000) == 0


def test_larger_steps_give_more() -> None:
    expected = FanoutEstimate()
    expected.observe(100, Delta.room(250, 1))
    assert [expected.of(rows) for rows in (0, 4, 100, 10_000)] == [0, 15, 375, 37_500]


def test_a_few_rows_with_many_changes_do_not_take_all_memory() -> None:
    expected = FanoutEstimate()
    expected.observe(1, Delta.room(10_000, 1))
    assert expected.of(1 << 30) == MOST
    expected.observe(1, Delta.room(3 * MOST, 0))
    assert expected.of(1 << 30) == 6 * MOST


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


def test_signed_changes_share_their_expiries() -> None:
    one, two = Delta.room(1_000, 2), Delta.room(900, 1)
    assert one.expiry.base is two.expiry.base and one.expiry.tolist() == [FOREVER] * 1_000
    own = Delta.room(1_000, 2, expires=True)
    assert own.expiry.base is None and len(own.expiry) == 1_000
    assert (forever(MOST_SHARED + 1) == FOREVER).all() and forever(0).tolist() == []
