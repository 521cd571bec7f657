from datetime import datetime

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.schema import BIGINT, STRING, TIMESTAMP, schema
from sash.testing.tables import Change, changes, from_arrow, in_order, rows, show, to_arrow

PEOPLE = schema(("name", STRING), ("n", BIGINT))


def test_lines_become_changes() -> None:
    assert changes("+ ann 1 @10", "- bob NULL @12.5", schema=PEOPLE) == [
        Change(1, 10_000_000, ("ann", 1)),
        Change(-1, 12_500_000, ("bob", None)),
    ]


def test_a_block_of_lines_is_as_good() -> None:
    text = """
        + ann 1 @10
        - ann 1 @2024-01-01 12:00:00
    """
    found = changes(text, schema=PEOPLE)
    assert [change.op for change in found] == [1, -1]
    assert found[1].ts == 1_704_110_400_000_000


def test_quotes_keep_blanks_quotes_and_the_word_null() -> None:
    texts = ["Ann Lee", "it's", "NULL", "", "a@b", "null"]
    written = [Change(1, 0, (text, 1)) for text in texts]
    assert changes(show(written), schema=PEOPLE) == written
    assert changes("+ NULL 1 @0", schema=PEOPLE) == [Change(1, 0, (None, 1))]


def test_timestamps_are_values_too() -> None:
    clock = schema(("at", TIMESTAMP))
    assert changes("+ '2024-01-01 00:00:00' @1", "+ 5 @5", schema=clock) == [
        Change(1, 1_000_000, (datetime(2024, 1, 1),)),
        Change(1, 5_000_000, (datetime(1970, 1, 1, 0, 0, 5),)),
    ]


def test_rows_of_a_stream() -> None:
    assert rows("ann 1", "bob NULL", schema=PEOPLE) == [("ann", 1), ("bob", None)]


@pytest.mark.parametrize("line", ["ann 1 @10", "+ ann 1", "* ann 1 @10"])
def test_what_is_no_change_is_an_error(line: str) -> None:
    with pytest.raises(SashError, match="is not a change"):
        changes(line, schema=PEOPLE)


def test_too_few_values_name_the_columns() -> None:
    with pytest.raises(SashError, match="has 1 values; columns are: name STRING, n BIGINT"):
        changes("+ ann @10", schema=PEOPLE)


def test_arrow_and_back() -> None:
    written = changes("+ ann 1 @10", "- bob NULL @12", schema=PEOPLE)
    table = to_arrow(written, PEOPLE)
    assert table.schema == pa.schema(
        [("_op", pa.int8()), ("_ts", pa.timestamp("us")), ("name", pa.string()), ("n", pa.int64())]
    )
    assert from_arrow(table) == written


def test_an_empty_changelog_keeps_its_columns() -> None:
    table = to_arrow([], PEOPLE)
    assert table.num_rows == 0
    assert table.column_names == ["_op", "_ts", "name", "n"]
    assert from_arrow(table) == []


def test_a_table_without_op_is_no_changelog() -> None:
    with pytest.raises(SashError, match="not a changelog: its columns are name"):
        from_arrow(pa.table({"name": ["ann"]}))


def test_order_is_by_instant_then_departures_then_row() -> None:
    text = ["- b 1 @5", "+ NULL 2 @5", "+ a 1 @5", "+ z 1 @9"]
    assert show(in_order(changes(*reversed(text), schema=PEOPLE))).splitlines() == text
