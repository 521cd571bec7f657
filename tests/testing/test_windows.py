"""Every window against contents worked out by hand."""

from sash.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow, WindowShape
from sash.testing.windows import Arrival, held, instants


def arrivals(*times: int) -> list[Arrival]:
    return [Arrival(ts, (place,)) for place, ts in enumerate(times)]


def timeline(spec: WindowShape, stream: list[Arrival]) -> dict[int, list[int]]:
    return {now: held(spec, stream, now) for now in sorted(instants(spec, stream))}


def test_range_holds_a_row_until_just_before_its_end() -> None:
    assert timeline(RangeWindow(10), arrivals(0, 5, 5)) == {0: [0], 5: [0, 1, 2], 10: [1, 2], 15: []}
    assert held(RangeWindow(10), arrivals(0), 9) == [0]
    assert held(RangeWindow(10), arrivals(0), -1) == []


def test_range_with_slide_shows_a_row_at_the_end_of_its_basic_window() -> None:
    spec = RangeWindow(20, slide=10)
    assert timeline(spec, arrivals(3, 10, 19)) == {10: [0], 20: [0, 1, 2], 30: [1, 2], 40: []}
    assert held(spec, arrivals(3), 9) == []
    assert timeline(spec, arrivals(-1)) == {0: [0], 20: []}


def test_rows_holds_the_last_ones() -> None:
    assert timeline(RowsWindow(2), arrivals(1, 2, 2, 7)) == {1: [0], 2: [1, 2], 7: [2, 3]}


def test_rows_of_every_partition() -> None:
    stream = [Arrival(1, ("a",)), Arrival(2, ("b",)), Arrival(3, ("a",)), Arrival(4, (None,)), Arrival(5, (None,))]
    assert held(RowsWindow(1, partition=(0,)), stream, 5) == [1, 2, 4]


def test_rows_with_slide_hold_complete_basic_windows() -> None:
    spec = RowsWindow(4, slide=2)
    assert timeline(spec, arrivals(1, 2, 3, 4, 5, 6, 7)) == {
        1: [], 2: [0, 1], 3: [0, 1], 4: [0, 1, 2, 3], 5: [0, 1, 2, 3], 6: [2, 3, 4, 5], 7: [2, 3, 4, 5],
    }  # fmt: skip


def test_now_lasts_one_microsecond() -> None:
    assert timeline(NowWindow(), arrivals(1, 1, 2)) == {1: [0, 1], 2: [2], 3: []}


def test_unbounded_forgets_nothing() -> None:
    assert timeline(UnboundedWindow(), arrivals(1, 9)) == {1: [0], 9: [0, 1]}


def test_a_stream_without_rows() -> None:
    assert timeline(RangeWindow(10), []) == {}
    assert held(RowsWindow(3), [], 5) == []
