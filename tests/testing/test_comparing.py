import pytest

from sash.schema import BIGINT, DOUBLE, STRING, schema
from sash.testing.comparing import assert_same, difference, same_rows
from sash.testing.tables import Change, changes

PEOPLE = schema(("name", STRING), ("n", BIGINT))


def compare(expected: str, actual: str) -> str:
    return difference(changes(expected, schema=PEOPLE), changes(actual, schema=PEOPLE))


def test_order_at_one_instant_does_not_count() -> None:
    assert compare("+ a 1 @1\n+ b 1 @1", "+ b 1 @1\n+ a 1 @1") == ""
    assert compare("", "") == ""


def test_the_difference_shows_what_agreed_before_it() -> None:
    assert compare("+ a 1 @1\n+ b 2 @2", "+ a 1 @1\n+ b 3 @2").splitlines() == [
        "changelogs differ: 1 missing, 1 unexpected",
        "              + a 1 @1",
        "  missing     + b 2 @2",
        "  unexpected  + b 3 @2",
    ]


def test_a_departure_can_be_missing_or_unexpected() -> None:
    assert "missing     - a 1 @2" in compare("+ a 1 @1\n- a 1 @2", "+ a 1 @1")
    assert "unexpected  - a 1 @2" in compare("+ a 1 @1", "+ a 1 @1\n- a 1 @2")


def test_duplicates_count() -> None:
    assert "1 missing, 0 unexpected" in compare("+ a 1 @1\n+ a 1 @1", "+ a 1 @1")


def test_the_same_change_at_another_instant_differs() -> None:
    assert "1 missing, 1 unexpected" in compare("+ a 1 @1", "+ a 1 @2")


def test_a_long_difference_is_cut() -> None:
    text = compare("\n".join(f"+ a {n} @{n}" for n in range(30)), "")
    assert text.endswith("and 10 more")


def test_floats_differ_by_more_than_rounding_only() -> None:
    numbers = schema(("x", DOUBLE))
    third = [Change(1, 0, (0.1 + 0.2,)), Change(1, 0, (0.1 + 0.2,))]
    assert difference(third, changes("+ 0.3 @0\n+ 0.3 @0", schema=numbers)) == ""
    assert difference(third, changes("+ 0.3 @0", schema=numbers)) != ""
    # A change that is only rounding is none.
    assert difference([], [Change(-1, 0, (0.3,)), Change(1, 0, (0.1 + 0.2,))]) == ""
    assert difference([], changes("- 0.3 @0\n+ 0.4 @0", schema=numbers)) != ""


def test_assert_same() -> None:
    assert_same(changes("+ a 1 @1", schema=PEOPLE), changes("+ a 1 @1", schema=PEOPLE))
    with pytest.raises(AssertionError, match="1 missing"):
        assert_same(changes("+ a 1 @1", schema=PEOPLE), [])


def test_bags_of_rows() -> None:
    assert same_rows([("a", 0.3), ("b", None)], [("b", None), ("a", 0.1 + 0.2)])
    assert not same_rows([("a", 1), ("a", 1)], [("a", 1)])
