"""Every window against contents worked out by hand."""

from sash.plan.nodes import WindowKind, WindowSpec
from sash.testing.windows import Arrival, held, instants

RANGE, ROWS, NOW, UNBOUNDED = WindowKind.RANGE, WindowKind.ROWS, WindowKind.NOW, WindowKind.UNBOUNDED


def arrivals(*times: int) -> list[Arrival]:
    return [Arrival(ts, (place,)) for place, ts in enumerate(times)]


def timeline(spec: WindowSpec, stream: list[Arrival]) -> dict[int, list[int]]:
    return {now: held(spec, stream, now) for now in sorted(instants(spec, stream))}


def test_range_holds_a_row_until_just_before_its_end() -> None:
    assert timeline(WindowSpec(RANGE, 10), arrivals(0, 5, 5)) == {0: [0], 5: [0, 1, 2], 10: [1, 2], 15: []}
    assert held(WindowSpec(RANGE, 10), arrivals(0), 9) == [0]
    assert held(WindowSpec(RANGE, 10), arrivals(0), -1) == []


def test_range_with_slide_shows_a_row_at_the_end_of_its_basic_window() -> None:
    spec = WindowSpec(RANGE, 20, slide=10)
    assert timeline(spec, arrivals(3, 10, 19)) == {10: [0], 20: [0, 1, 2], 30: [1, 2], 40: []}
    assert held(spec, arrivals(3), 9) == []
    assert timeline(spec, arrivals(-1)) == {0: [0], 20: []}


def test_rows_holds_the_last_ones() -> None:
    assert timeline(WindowSpec(ROWS, 2), arrivals(1, 2, 2, 7)) == {1: [0], 2: [1, 2], 7: [2, 3]}


def test_rows_of_every_partition() -> None:
    stream = [Arrival(1, ("a",)), Arrival(2, ("b",)), Arrival(3, ("a",)), Arrival(4, (None,)), Arrival(5, (None,))]
    assert held(WindowSpec(ROWS, 1, partition=(0,)), stream, 5) == [1, 2, 4]


def test_rows_with_slide_hold_complete_basic_windows() -> None:
    spec = WindowSpec(ROWS, 4, slide=2)
    assert timeline(spec, arrivals(1, 2, 3, 4, 5, 6, 7)) == {
        1: [], 2: [0, 1], 3: [0, 1], 4: [0, 1, 2, 3], 5: [0, 1, 2, 3], 6: [2, 3, 4, 5], 7: [2, 3, 4, 5],
    }  # fmt: skip


def test_now_lasts_one_microsecond() -> None:
    assert timeline(WindowSpec(NOW), arrivals(1, 1, 2)) == {1: [0, 1], 2: [2], 3: []}


def test_unbounded_forgets_nothing() -> None:
    assert timeline(WindowSpec(UNBOUNDED), arrivals(1, 9)) == {1: [0], 9: [0, 1]}


def test_a_stream_without_rows() -> None:
    assert timeline(WindowSpec(RANGE, 10), []) == {}
    assert held(WindowSpec(ROWS, 3), [], 5) == []
