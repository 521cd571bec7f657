"""Jobs as text: what they expect and does not come is told, with its line."""

from __future__ import annotations

import pytest

from sash.testing.slt import SltError, run

JOB = """# A comment.
statement
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts

view rows
SELECT k, v FROM s [RANGE 5 SECONDS]

push s
@1 'it''s #1' 1   # quotes keep what would start a comment
@2 NULL NULL

"""


def test_all_that_is_checked_is_counted() -> None:
    text = JOB + "answer rows\n'it''s #1' 1\nNULL NULL\n\nend\n\nchanges rows\n+ 'it''s #1' 1 @1\n+ NULL NULL @2\n\noracle\n"
    assert run(text) == 3


def test_a_look_shows_what_is_new() -> None:
    text = "advance 2\n\nchanges rows\n+ 'it''s #1' 1 @1\n\nadvance 3\n\nchanges rows\n+ NULL NULL @2\n\nchanges rows\n"
    assert run(JOB + text) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("answer rows\nann 1\n", "job:12: answer rows\n  missing     ann 1\n  unexpected  'it''s #1' 1\n  unexpected  NULL NULL"),
        ("end\n\nchanges rows\n+ NULL NULL @2\n", "job:14: changes rows\n  unexpected  + 'it''s #1' 1 @1"),
        ("end\n\nchanges rows\n+ 'it''s #1' 1 @1.5\n+ NULL NULL @2\n", "missing     + 'it''s #1' 1 @1.5"),
        ("late s\n@1 ann 1\n", "missing     1970-01-01T00:00:01 ann 1"),
        ("dead s\nno reason\n", "missing     no reason"),
        ("failures\n1 division by zero\n", "missing     1 division by zero"),
        ("explain rows\nScan  s\nWindow  [RANGE\n", "the plan does not have, below the lines before: Window  [RANGE"),
        ("error view\nSELECT k FROM s\n---- wrong\n", "there is no error"),
        ("error view\nSELECT x FROM s\n---- wrong\n", 'the error is another one: unknown column "x"'),
        ("error view\nSELECT x FROM s\n      ^\n---- unknown\n", "the error is at another place"),
        ("error view\nSELECT xx FROM s\n       ^\n---- unknown\n", "the error is at another place"),
        ("statement\nSHOW TABLES\n----\nt\n", "missing     t"),
        ("changes nothing\n", 'unknown view "nothing"; views are: rows'),
        ("push nothing\n1\n", 'unknown stream or table "nothing"; there are: s'),
        ("check rows\n", 'no block is called "check"; blocks are: statement, view'),
        ("answer\n", '"answer" needs the name of a view'),
        ("advance\n", "advance needs an instant"),
        ("answer rows\nann\n", '"ann" has 1 values; columns are: k STRING, v INT'),
    ],
)  # fmt: skip
def test_what_differs_is_told(text: str, message: str) -> None:
    with pytest.raises(SltError) as raised:
        run(JOB + text)
    assert message in str(raised.value)


def test_the_oracle_finds_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.testing.slt.from_arrow", lambda table: [])
    with pytest.raises(SltError, match='view "rows": changelogs differ: 2 missing, 0 unexpected'):
        run(JOB + "oracle\n")


def test_floats_are_exact() -> None:
    job = "statement\nCREATE TABLE t (x DOUBLE)\n\nview v\nSELECT x FROM t\n\npush t\n0.1\n\n"
    assert run(job + "answer v\n0.1\n") == 1
    with pytest.raises(SltError):
        run(job + "answer v\n0.10000000000000002\n")
