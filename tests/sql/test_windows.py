"""Windows: every form, every place where they may stand."""

import pytest

from sash.plan.nodes import Insertions, Scan, Window
from sash.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow
from sash.schema import SECOND
from sash.sql.bind import bind
from sash.sql.syntax.parse import parse_query_text

MINUTE = 60 * SECOND

FORMS = {
    "[RANGE 5 MINUTES]": RangeWindow(5 * MINUTE),
    "[range 1 minute]": RangeWindow(MINUTE),
    "[RANGE INTERVAL '5' MINUTES]": RangeWindow(5 * MINUTE),
    "[RANGE INTERVAL '5 MINUTES']": RangeWindow(5 * MINUTE),
    "[RANGE INTERVAL 5 MINUTES SLIDE INTERVAL 1 MINUTE]": RangeWindow(5 * MINUTE, MINUTE),
    "[RANGE 5.5 SECONDS SLIDE 500 MILLISECONDS]": RangeWindow(5_500_000, 500_000),
    "[RANGE 2 WEEKS]": RangeWindow(14 * 24 * 60 * MINUTE),
    "[RANGE 1 DAY SLIDE 1 HOUR]": RangeWindow(24 * 60 * MINUTE, 60 * MINUTE),
    "[RANGE 7 MICROSECONDS]": RangeWindow(7),
    "[ROWS 100]": RowsWindow(100),
    "[ROWS 100 SLIDE 10]": RowsWindow(100, 10),
    "[PARTITION BY Bidder, auction ROWS 10]": RowsWindow(10, partition=(2, 1)),
    "[NOW]": NowWindow(),
    "[UNBOUNDED]": UnboundedWindow(),
    "[RANGE UNBOUNDED]": UnboundedWindow(),
}


def plan(sql, catalog):
    return bind(parse_query_text(sql), catalog)


def windows(node):
    """The windows of a plan from left to right, with what they cut."""
    if isinstance(node, Window):
        return [(node.shape, type(node.input))]
    children = [getattr(node, name) for name in ("input", "left", "right") if hasattr(node, name)]
    return [window for child in children for window in windows(child)]


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, catalog):
    assert windows(plan(f"SELECT * FROM bids {form}", catalog)) == [(FORMS[form], Scan)]


@pytest.mark.parametrize("form", FORMS)
def test_what_explain_shows_can_be_read_again(form, catalog):
    names = catalog.streams["bids"].schema.names
    shown = FORMS[form].text(names)
    assert windows(plan(f"SELECT * FROM bids {shown}", catalog)) == [(FORMS[form], Scan)]


@pytest.mark.parametrize(
    "source",
    [
        "bids [ROWS 3]",
        "bids [ROWS 3] b",
        "bids [ROWS 3] AS b",
        "bids b [ROWS 3]",
        "bids AS b [ROWS 3]",
        "bids [ -- the last\n ROWS 3 ]",
    ],
)
def test_places(source, catalog):
    three, unbounded = RowsWindow(3), UnboundedWindow()
    assert windows(plan(f"SELECT price FROM {source} WHERE price > 1", catalog)) == [(three, Scan)]
    assert windows(plan(f"SELECT price FROM auctions, {source}", catalog)) == [(unbounded, Scan), (three, Scan)]
    assert windows(plan(f"SELECT price FROM {source} JOIN auctions ON auction = id", catalog))[0] == (three, Scan)
    assert windows(plan(f"SELECT price FROM auctions JOIN {source} ON auction = id", catalog))[1] == (three, Scan)


@pytest.mark.parametrize("source", ["(SELECT n FROM counts) [ROWS 3] AS x", "(SELECT n FROM counts) x [ROWS 3]"])
def test_on_a_subquery(source, catalog):
    assert windows(plan(f"SELECT n FROM {source}", catalog)) == [(RowsWindow(3), Insertions)]


def test_the_window_clause_holds_for_all_streams_without_their_own(catalog):
    day = RangeWindow(24 * 60 * MINUTE)
    sql = "WITH c AS (SELECT price FROM bids) SELECT 1 AS x FROM c, (SELECT id FROM auctions [NOW]), bids WINDOW 1 DAY"
    assert windows(plan(sql, catalog)) == [(day, Scan), (NowWindow(), Scan), (day, Scan)]


def test_the_window_clause_leaves_views_and_tables_alone(catalog):
    found = windows(plan("SELECT n FROM counts, people WINDOW 1 DAY", catalog))
    assert found == [(RangeWindow(MINUTE), Scan)]
