"""Golden plans of the seeds' queries, each beside its golden answer over a small fixed input.

A file beside this one has the query, its EXPLAIN and its changes. `SASH_GOLDEN=write` writes them anew; look at the difference
before you keep it. The changes are also those that the oracle recomputes.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.plan.statistics import NOTHING_KNOWN, Statistics
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import from_arrow, show
from sash.testing.values import moment

HERE = Path(__file__).parent
SECOND = 1_000_000

SALES = """
CREATE STREAM sales (ts TIMESTAMP, store INT, item INT, price INT) TIMESTAMP BY ts;
CREATE STREAM returns (ts TIMESTAMP, store INT, item INT, price INT) TIMESTAMP BY ts;
CREATE TABLE favourites (item INT);
"""
LINKS = "\n".join(
    f"CREATE STREAM link{n} (ts TIMESTAMP, protocol STRING, src STRING, dst STRING) TIMESTAMP BY ts;" for n in (1, 2, 3)
)


@dataclass(frozen=True)
class Golden:
    """A query, and what is known of its streams."""

    declarations: str
    sql: str
    statistics: Statistics = NOTHING_KNOWN


LINK = {n: f"link{n} [RANGE 20 SECONDS]" for n in (1, 2, 3)}
NOT_ON_LINK_2 = f"""
SELECT link1.src, link3.dst
FROM {LINK[1]} JOIN {LINK[3]} ON link1.src = link3.src
WHERE link3.protocol = 'ftp' AND NOT EXISTS (SELECT 1 FROM {LINK[2]} WHERE link2.src = link1.src)
"""
SOURCES = [("link1", "src"), ("link2", "src"), ("link3", "src")]

GOLDEN = {
    "000_q1_favourite_items": Golden(
        SALES, "SELECT COUNT(*) AS sold FROM sales [RANGE 5 SECONDS] s JOIN favourites f ON s.item = f.item"
    ),
    "000_q2_greatest_price": Golden(
        SALES,
        "SELECT MAX(r.price) AS most FROM sales [RANGE 5 SECONDS] s JOIN returns [RANGE 5 SECONDS] r ON s.store = r.store",
    ),
    "003_query_1_join": Golden(
        LINKS,
        f"""
        SELECT link1.src, link1.dst, link2.dst AS other FROM {LINK[1]} JOIN {LINK[2]} ON link1.src = link2.src
        WHERE link1.protocol = 'ftp' AND link2.protocol = 'ftp'
        """,
    ),
    "003_query_2_distinct_sources": Golden(LINKS, f"SELECT DISTINCT src FROM {LINK[1]}"),
    "003_query_2_distinct_pairs": Golden(LINKS, f"SELECT DISTINCT src, dst FROM {LINK[1]}"),
    "003_query_3_negation": Golden(LINKS, f"SELECT * FROM {LINK[1]} MINUS {LINK[2]} ON link1.src = link2.src"),
    "003_query_4_join_of_distinct": Golden(
        LINKS,
        f"""
        SELECT x.src FROM (SELECT DISTINCT src FROM {LINK[1]}) x JOIN (SELECT DISTINCT src FROM {LINK[2]}) y ON x.src = y.src
        """,
    ),
    "003_query_5_minus_below_the_join": Golden(
        LINKS,
        f"""
        SELECT m.src, link3.dst FROM (SELECT link1.src FROM {LINK[1]} MINUS {LINK[2]} ON link1.src = link2.src) m
        JOIN {LINK[3]} ON m.src = link3.src WHERE link3.protocol = 'ftp'
        """,
    ),
    "003_query_5_minus_above_the_join": Golden(
        LINKS,
        f"""
        SELECT p.src, p.dst FROM (
          SELECT link1.src, link3.dst FROM {LINK[1]} JOIN {LINK[3]} ON link1.src = link3.src WHERE link3.protocol = 'ftp'
        ) p MINUS {LINK[2]} ON p.src = link2.src
        """,
    ),
    "003_query_5_many_pairs_few_left_over": Golden(
        LINKS, NOT_ON_LINK_2,
        Statistics(
            rates={"link1": 50, "link2": 50, "link3": 50},
            distinct={("link3", "protocol"): 2.0, **dict.fromkeys(SOURCES, 20.0)},
        ),
    ),
    "003_query_5_few_pairs": Golden(
        LINKS, NOT_ON_LINK_2,
        Statistics(
            rates={"link1": 50, "link2": 5, "link3": 5}, distinct=dict.fromkeys(SOURCES, 100000.0),
        ),
    ),
}  # fmt: skip


def make_rows(declarations: str) -> dict[str, list[tuple[object, ...]]]:
    chance = random.Random(7)
    if declarations == SALES:
        made = lambda second: (moment(second * SECOND), chance.randint(1, 3), chance.randint(1, 6), chance.randint(1, 50))  # noqa: E731
        return {
            "favourites": [(2,), (4,)],
            "sales": [made(second) for second in range(12)],
            "returns": [made(second) for second in range(1, 12, 2)],
        }
    return {
        f"link{n}": [
            (moment(second * SECOND), chance.choice(["ftp", "ftp", "telnet"]), chance.choice("abcd"), chance.choice("xy"))
            for second in range(n, 40, 3)
        ]
        for n in (1, 2, 3)
    }


def text(golden: Golden) -> str:
    """The query, its plan, and its changes."""
    db = EmbeddedDatabase()
    db.statistics = golden.statistics
    db.execute(f"{golden.declarations} CREATE MATERIALIZED VIEW v AS {golden.sql}")
    plan = db.explain("v")
    rows = make_rows(golden.declarations)
    for name, part in rows.items():
        db.push(name, part)
    db.end()
    changes = from_arrow(db.changes("v"))
    oracle = Oracle(f"{golden.declarations} CREATE MATERIALIZED VIEW v AS {golden.sql};", rows)
    assert_same(oracle.changelog("v"), changes)
    sql = "\n".join(line.strip() for line in golden.sql.strip().splitlines())
    return f"{sql}\n\n{plan}\n\n{show(changes)}\n"


@pytest.mark.parametrize("name", GOLDEN)
def test_plan_and_answer(name: str) -> None:
    path, found = HERE / f"{name}.txt", text(GOLDEN[name])
    if os.environ.get("SASH_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_query_5_is_run_as_its_streams_suggest() -> None:
    """Negation first where few rows are left over after it; the join first where it lets little through (seed 003, 5.4.2)."""
    tops = {}
    for name in ("003_query_5_many_pairs_few_left_over", "003_query_5_few_pairs"):
        _, plan, _ = text(GOLDEN[name]).split("\n\n", 2)
        tops[name] = [line.split()[1] for line in plan.splitlines()[2:3]]
    assert tops == {"003_query_5_many_pairs_few_left_over": ["Join"], "003_query_5_few_pairs": ["Combine"]}
