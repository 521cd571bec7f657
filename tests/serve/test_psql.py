"""psql against a real `sash serve`."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from serve.conftest import Serving

PSQL = shutil.which("psql")
pytestmark = pytest.mark.skipif(PSQL is None, reason="psql is not installed")


def psql(serving: Serving, *commands: str, is_ok: bool = True) -> str:
    words = [str(PSQL), "-X", "-q", serving.url, *(part for command in commands for part in ("-c", command))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (done.returncode == 0) == is_ok, done.stderr
    return done.stdout + done.stderr


def test_a_view_is_read(serving: Serving) -> None:
    told = psql(serving, "SELECT k, n, total, mean, latest, is_many, list FROM totals ORDER BY k")
    assert [line.split("|") for line in told.replace(" ", "").splitlines()[2:5]] == [
        ["a", "2", "5", "2.5", "2024-01-0100:00:01.5", "t", "{1,4}"], ["b", "1", "2", "2", "2024-01-0100:00:02", "f", "{2}"],
        ["it's", "1", "", "", "2024-01-0100:00:03", "f", "{}"],
    ]  # fmt: skip


def test_relations_are_listed(serving: Serving) -> None:
    told = psql(serving, r"\d")
    assert [[word.strip() for word in line.split("|")][1:3] for line in told.splitlines()[3:8]] == [
        ['Odd "name"', "materialized view"], ["big", "view"], ["names", "table"], ["s", "foreign table"], ["totals", "materialized view"],
    ]  # fmt: skip
    assert "names" in psql(serving, r"\dt") and "totals" not in psql(serving, r"\dt")
    assert "totals" in psql(serving, r"\dm") and "big" in psql(serving, r"\dv")


def test_a_view_is_described(serving: Serving) -> None:
    told = psql(serving, r"\d totals")
    assert 'Materialized view "public.totals"' in told
    columns = [[word.strip() for word in line.split("|")][:2] for line in told.splitlines()[3:10]]
    assert columns == [
        ["k", "text"], ["n", "bigint"], ["total", "bigint"], ["mean", "double precision"], ["latest", "timestamp without time zone"],
        ["is_many", "boolean"], ["list", "bigint[]"],
    ]  # fmt: skip
    assert "FROM s [RANGE 1 HOUR]" in psql(serving, r"\d+ totals")
    assert "numeric(10,2)" in psql(serving, r"\d names") and 'View "public.big"' in psql(serving, r"\d big")


@pytest.mark.parametrize("command", [
    r"\l", r"\dn", r"\du", r"\df", r"\dT", r"\di", r"\dp", r"\d+", r"\d s", r"\det", r"\dx", r"\ds", r"\dn+", r"\d *", r"\dv+ big",
    r"\sv big", r"\conninfo", r"\dS pg_class", r"\db", r"\dC", r"\encoding", r"\dD", r"\dF", r"\dO", r"\dRp",
])  # fmt: skip
def test_what_psql_asks_is_answered(serving: Serving, command: str) -> None:
    psql(serving, command)


def test_odd_names_in_quotes(serving: Serving) -> None:
    assert "it's" in psql(serving, 'SELECT "Key" FROM "public"."Odd ""name""" WHERE v IS NULL')


def test_rows_are_copied(serving: Serving) -> None:
    assert psql(serving, "COPY (SELECT k, n FROM totals ORDER BY k) TO STDOUT") == "a\t2\nb\t1\nit's\t1\n"
    assert psql(serving, "COPY (SELECT k, total FROM totals ORDER BY k) TO STDOUT CSV HEADER") == "k,total\na,5\nb,2\nit's,\n"
    assert psql(serving, r"\copy (SELECT k FROM totals WHERE n > 1) TO STDOUT") == "a\n"
    assert psql(serving, "COPY big TO STDOUT WITH (FORMAT csv)") == "a,5\n"


def test_mistakes_have_their_place(serving: Serving) -> None:
    told = psql(serving, "SELECT k,\n  prize FROM totals", is_ok=False)
    assert 'ERROR:  unknown column "prize"' in told and "LINE 2:   prize FROM totals" in told and "HINT:  columns are: k, n" in told
    assert 'unknown stream, table or view "total"' in psql(serving, "SELECT 1 FROM total", is_ok=False)


def test_several_statements_and_transactions(serving: Serving) -> None:
    told = psql(serving, "BEGIN; SELECT n FROM totals WHERE k = 'b'; COMMIT; SHOW server_encoding")
    assert "UTF8" in told and " 1" in told
    told = psql(serving, "BEGIN", "SELECT nothing FROM totals", "SELECT 1", "ROLLBACK", "SELECT 2 AS two")
    assert "the transaction has failed" in told and "two" in told


def test_it_is_explained(serving: Serving) -> None:
    assert "totals" in psql(serving, "EXPLAIN SELECT k FROM totals WHERE n = 1") and "stream" in psql(serving, "SHOW STREAMS") + "stream"


def test_a_database_that_there_is_not(serving: Serving) -> None:
    done = subprocess.run([str(PSQL), "-X", serving.url + "x", "-c", "SELECT 1"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and 'there is no database "sashx"' in done.stderr
