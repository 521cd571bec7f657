"""The four modes of operators (seed 002, 3.1) in EXPLAIN: windows in or not, windows out or not."""

from __future__ import annotations

import pytest

from sash.database.embedded import EmbeddedDatabase

DECLARED = """
    CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
    CREATE STREAM r (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
    CREATE TABLE t (k INT);
    CREATE VIEW met AS SELECT s.k FROM s [RANGE 9 SECONDS] JOIN r [RANGE 9 SECONDS] ON s.k = r.k;
"""


@pytest.mark.parametrize(
    ("query", "modes"),
    [
        ("SELECT k + 1 AS n FROM s WHERE k > 1", {"Project": "1", "Filter": "1"}),
        ("SELECT s.k FROM s FOLLOWED BY r ON s.k = r.k", {"Sequence": "1"}),
        ("SELECT k FROM ISTREAM(met)", {"Insertions": "2"}),
        ("SELECT k FROM s [RANGE 9 SECONDS] WHERE k > 1", {"Filter": "1", "TimeWindow": "3"}),
        ("SELECT k FROM s [ROWS 9]", {"CountWindow": "3"}),
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k", {"GroupBy": "3"}),  # its rows are revised, though none ever leaves its input
        ("SELECT s.k FROM s [RANGE 9 SECONDS] JOIN r [RANGE 9 SECONDS] ON s.k = r.k", {"TimeWindow": "3", "LeavingJoin": "4"}),
        ("SELECT s.k FROM s JOIN t ON s.k = t.k", {"SignedJoin": "4"}),  # a table is a relation, from which rows leave
    ],
)
def test_the_mode_of_an_operator(query: str, modes: dict[str, str]) -> None:
    db = EmbeddedDatabase()
    db.execute(DECLARED)
    text = str(db.explain(query))
    head, *lines = text[text.index("operator  ") :].split("\n\n")[0].splitlines()
    place = head.index("mode")
    said = {line.lstrip("─├└│ ").split()[0]: line[place : place + 4].strip() for line in lines}
    assert {name: said.get(name) for name in modes} == modes, text
    assert {mode for name, mode in said.items() if name == "Port"} == {""}
