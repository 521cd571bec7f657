"""Streams of views, sequences, MINUS and EMIT EVERY: changelogs worked out by hand from the definitions."""

from sash.testing import Oracle, show

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, k STRING, x BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (ts TIMESTAMP, k STRING, y BIGINT) TIMESTAMP BY ts;
"""


def lines(query: str, a: list[tuple[object, ...]], b: list[tuple[object, ...]] | None = None, until: str = "100") -> list[str]:
    job = f"{STREAMS} CREATE MATERIALIZED VIEW v AS {query}"
    return show(Oracle(job, {"a": a, "b": b or []}, until=until).changelog("v")).splitlines()


COUNTS = "SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k"
TWICE = [(1, "p", 0), (2, "p", 0)]  # counts: 1 in [1, 2), 2 in [2, 6), 1 in [6, 7)


def test_istream_is_what_enters() -> None:
    assert lines(f"SELECT n FROM ISTREAM({COUNTS})", TWICE) == ["+ 1 @1", "+ 2 @2", "+ 1 @6"]


def test_dstream_is_what_leaves() -> None:
    found = lines(f"SELECT n FROM DSTREAM({COUNTS}) [RANGE 3 SECONDS]", TWICE)
    assert found == ["+ 1 @2", "- 1 @5", "+ 2 @6", "+ 1 @7", "- 2 @9", "- 1 @10"]


def test_rstream_is_everything_at_every_change() -> None:
    rows = [(1, "p", 0), (2, "q", 0)]
    found = lines(f"SELECT k, n FROM RSTREAM({COUNTS})", rows)
    assert found == ["+ p 1 @1", "+ p 1 @2", "+ q 1 @2", "+ q 1 @6"]


def test_recent_pairs_with_the_youngest_before() -> None:
    query = "SELECT a.x, b.y FROM a FOLLOWED BY b ON a.k = b.k"
    found = lines(query, [(1, "p", 1), (2, "p", 2), (4, "p", 3), (3, "q", 9)][:3], [(2, "p", 7), (3, "p", 8), (3, "q", 0)])
    assert found == ["+ 2 7 @2", "+ 2 8 @3"]


def test_a_pair_must_be_made_in_time_and_fulfil_the_condition() -> None:
    query = "SELECT x, y FROM a FOLLOWED BY b ON a.x > b.y WITHIN 3 SECONDS"
    assert lines(query, [(1, "p", 5), (2, "p", 1)], [(3, "q", 2), (4, "q", 2)]) == ["+ 5 2 @3"]


def test_chronicle_uses_every_row_once() -> None:
    query = "SELECT a.x, b.y FROM a FOLLOWED BY b USING CHRONICLE ON a.k = b.k [RANGE 2 SECONDS]"
    found = lines(query, [(1, "p", 1), (2, "p", 2)], [(3, "p", 7), (4, "p", 8), (5, "p", 9)])
    assert found == ["+ 1 7 @3", "+ 2 8 @4", "- 1 7 @5", "- 2 8 @6"]


def test_null_keys_meet_nothing_in_a_sequence() -> None:
    assert lines("SELECT x FROM a FOLLOWED BY b ON a.k = b.k", [(1, None, 1)], [(2, None, 2)]) == []


def test_minus_keeps_the_youngest() -> None:
    query = "SELECT x FROM a [RANGE 9 SECONDS] MINUS b [RANGE 2 SECONDS] ON a.k = b.k"
    found = lines(query, [(1, "p", 1), (2, "p", 2), (3, None, 3)], [(4, "p", 0), (4, None, 0), (5, "q", 0)])
    assert found == [
        "+ 1 @1", "+ 2 @2", "+ 3 @3", "- 1 @4", "- 3 @4", "+ 1 @6", "+ 3 @6", "- 1 @10", "- 2 @11", "- 3 @12",
    ]  # fmt: skip


def test_emission_is_net_per_period_and_the_rest_comes_at_the_end() -> None:
    query = f"{COUNTS} EMIT EVERY 4 SECONDS"
    assert lines(query, [*TWICE, (4, "q", 0), (5, "r", 0)], until="7") == [
        "+ p 2 @4", "+ q 1 @4", "- p 2 @7", "+ r 1 @7",
    ]  # fmt: skip
