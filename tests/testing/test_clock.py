import pytest

from sash.testing.clock import FakeClock


def test_time_passes_only_when_told() -> None:
    clock = FakeClock("2024-01-01 12:00:00")
    start = clock()
    assert clock() == start == 1_704_110_400_000_000
    clock.advance(1.5)
    clock.sleep(0.5)
    assert clock() - start == 2_000_000


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        FakeClock().advance(-1)
