"""A share of the fuzzing in every test run; `./run fuzz --statements 20000` for more. A found seed becomes a test here, or, better,
where the thing is tested that it was about."""

from __future__ import annotations

import os
from collections import Counter

import pytest

import sash
from fuzz.fuzz import Summary
from fuzz.trying import BROKEN, MOST_SECONDS, REFUSED, SLOW, VALID, WRONG, Outcome, attempt, sql_of
from sash.errors import SashError, SqlError
from sash.warm import QUERIES, play

STATEMENTS = int(os.environ.get("SASH_STATEMENTS", "60"))
FOUND = (147, 223, 386, 865, 1412)  # what was wrong is fixed, and named below


@pytest.fixture(scope="module", autouse=True)
def kernels() -> None:
    for query in QUERIES:
        play(query)


def test_random_statements_end_with_an_answer_or_a_clear_error() -> None:
    outcomes = [attempt(seed) for seed in range(100_000, 100_000 + STATEMENTS)]
    bad = [outcome for outcome in outcomes if outcome.kind in (BROKEN, WRONG, SLOW)]
    assert not bad, bad[0].told
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert kinds[VALID] >= STATEMENTS / 2
    assert kinds[REFUSED] > 0
    assert any(outcome.compared for outcome in outcomes)


def test_two_threads_change_nothing_about_that() -> None:
    outcomes = [attempt(seed, threads=True) for seed in range(200_000, 200_000 + STATEMENTS // 6)]
    assert not [outcome.told for outcome in outcomes if outcome.kind in (BROKEN, WRONG)]


@pytest.mark.parametrize("seed", FOUND)
def test_found_seeds_stay_mended(seed: int) -> None:
    outcome = attempt(seed)
    assert outcome.kind in (VALID, REFUSED), outcome.told


def test_a_seed_makes_one_statement() -> None:
    assert [sql_of(seed) for seed in range(50)] == [sql_of(seed) for seed in range(50)]


def test_what_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness can fail: an exception, a wrong answer and a slow one are told apart."""

    def broken(*_: object) -> None:
        raise KeyError("grouping")

    monkeypatch.setattr("fuzz.trying._play", broken)
    assert attempt(1).kind == BROKEN

    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr("fuzz.trying._play", endless)
    monkeypatch.setattr("fuzz.trying.MOST_SECONDS", 0.05)
    assert attempt(1).kind == SLOW
    summary = Summary()
    summary.add(Outcome(1, BROKEN, "SELECT", "KeyError", MOST_SECONDS))
    summary.add(Outcome(2, VALID, "SELECT"))
    assert summary.valid_share == 0.5
    assert "seed 1" in str(summary)


# --- what was found ---------------------------------------------------------------------------------------------------


def test_a_format_of_times_without_letters_is_refused() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (x STRING, f STRING)")
    with pytest.raises(SashError, match="no letter stands in it"):
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT TO_DATE(x, '0.0') AS d FROM s")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT TO_DATE(x, f) AS d FROM s")
    db.push("s", [{"x": "2024", "f": ""}, {"x": "2024", "f": "yyyy"}])
    assert sorted(map(str, db.view("v").to_arrow()["d"].to_pylist())) == ["2024-01-01", "None"]


def test_arrays_of_nothing_but_nulls_are_taken() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (l ARRAY<INT>); CREATE MATERIALIZED VIEW v AS SELECT l FROM s")
    db.push("s", [{"l": [None, None]}])
    assert db.view("v").to_arrow()["l"].to_pylist() == [[None, None]]


def test_half_of_a_character_is_no_statement() -> None:
    with pytest.raises(SqlError, match="half of a character stands here") as caught:
        sash.connect().execute("CREATE STREAM s (x INT, \udcff INT)")
    assert "(x INT, \ufffd INT)" in str(caught.value).encode().decode(), "the message can be printed"


def test_a_constant_condition_above_a_join_without_columns_on_the_left() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, x INT) TIMESTAMP BY ts")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT 1 AS one FROM s a CROSS JOIN s b WHERE ARRAY(3) BETWEEN ARRAY(0) AND ARRAY(4) AND 1 IN (SELECT 1 AS c FROM s)")
    db.push("s", [{"ts": 1, "x": 1}])
    assert db.view("v").to_arrow().to_pylist() == [{"one": 1}]
