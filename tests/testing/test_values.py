import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from sash.errors import SashError
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from sash.testing.values import convert, fit, instant, order, same, show_instant


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (None, None, True),
        (None, 0, False),
        (None, 0.0, False),
        (1, 1, True),
        (10**20, 10**20 + 1, False),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0 + 1e-6, False),
        (2.8e-17, 5.6e-17, True),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (1.0, 1, True),
        (1.0, "1.0", False),
        (True, 1, False),
        (True, 1.0, False),
        (Decimal("1.10"), Decimal("1.1"), True),
        (Decimal("1.10"), Decimal("1.11"), False),
        (("ann", 0.3), ("ann", 0.1 + 0.2), True),
        (("ann",), ("ann", None), False),
    ],
)
def test_same(left: object, right: object, expected: bool) -> None:
    assert same(left, right) is expected
    assert same(right, left) is expected


def test_an_instant_is_seconds_or_a_calendar_time() -> None:
    assert instant(10) == instant("10") == instant("1970-01-01 00:00:10") == 10_000_000
    assert instant("1713484784.962686") == 1_713_484_784_962_686
    assert instant(datetime(1970, 1, 1, 0, 0, 0, 7)) == 7
    assert instant(datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == 0
    assert instant(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert instant("1969-12-31T23:59:59") == -1_000_000
    with pytest.raises(SashError, match='"noon" is not an instant'):
        instant("noon")


def test_instants_are_shown_as_they_are_written() -> None:
    for microseconds, text in [(0, "0"), (10_000_000, "10"), (10_500_000, "10.5"), (1, "0.000001")]:
        assert show_instant(microseconds) == text
        assert instant(text) == microseconds
    assert show_instant(86_400_000_000) == "1970-01-02T00:00:00"
    assert show_instant(-1_000_000) == "1969-12-31T23:59:59"


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (None, INT, None),
        ("12", BIGINT, 12),
        ("1e3", DOUBLE, 1000.0),
        ("true", BOOLEAN, True),
        (False, BOOLEAN, False),
        ("1.005", decimal(5, 2), Decimal("1.01")),
        ("10.5", TIMESTAMP, datetime(1970, 1, 1, 0, 0, 10, 500_000)),
        ("2024-02-29", DATE, date(2024, 2, 29)),
        (7, STRING, "7"),
    ],
)
def test_convert(value: object, type_: Type, expected: object) -> None:
    found = convert(value, type_)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_"), [("x", INT), ("yes", BOOLEAN), ("1.2.3", decimal(3, 1)), ("2024-13-01", DATE)]
)
def test_what_is_no_value_of_a_type_is_an_error(value: str, type_: Type) -> None:
    with pytest.raises(SashError, match="is not a"):
        convert(value, type_)


def test_a_number_that_does_not_fit_is_null() -> None:
    assert fit(2**63 - 1, BIGINT) == 2**63 - 1
    assert fit(2**63, BIGINT) is None
    assert fit(2**31, INT) is None
    assert fit(Decimal("99.9"), decimal(3, 1)) == Decimal("99.9")
    assert fit(Decimal("100"), decimal(3, 1)) is None


def test_rows_are_ordered_with_nulls_first_and_nan_last() -> None:
    rows = [(math.nan,), (1.0,), (None,), (-1.0,)]
    assert [row[0] for row in sorted(rows, key=order)][:3] == [None, -1.0, 1.0]
