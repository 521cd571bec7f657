"""Clients in Go against a real `sash serve`: pgx and lib/pq, which Grafana has asked by, with what its macros and its editor write."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from serve.conftest import Serving

GO = shutil.which("go")
SOURCE = Path(__file__).parent / "go_client"
WAYS = ("pgx-simple", "pgx", "pq")
pytestmark = [pytest.mark.skipif(GO is None, reason="Go is not installed"), pytest.mark.laws]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("go") / "client"
    modules = subprocess.run([str(GO), "mod", "download"], cwd=SOURCE, capture_output=True, text=True, timeout=600)
    if modules.returncode:
        pytest.skip(f"the modules of the client cannot be had: {modules.stderr.strip()}")
    done = subprocess.run([str(GO), "build", "-o", str(path), "."], cwd=SOURCE, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return path


def asked(client: Path, serving: Serving, way: str, *questions: tuple[str, list[Any]]) -> list[dict[str, Any]]:
    given = json.dumps([{"way": way, "sql": sql, "args": values} for sql, values in questions])
    done = subprocess.run([str(client), serving.url], input=given, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(client: Path, serving: Serving, way: str, *questions: tuple[str, list[Any]]) -> list[Any]:
    found = asked(client, serving, way, *questions)
    assert [one["error"] for one in found] == [""] * len(questions)
    return [one["rows"] for one in found]


@pytest.mark.parametrize("way", WAYS)
def test_values_of_all_types(client: Path, serving: Serving, way: str) -> None:
    """Times of lib/pq have no zone that JSON could tell from UTC; arrays are texts there."""
    found, empty = rows(client, serving, way, ("SELECT * FROM totals ORDER BY k", []), ("SELECT k, n FROM totals WHERE n > 9", []))
    expected = [
        ["a", 2, 5, 2.5, "2024-01-01T00:00:01.5Z", True, [1, 4]], ["b", 1, 2, 2, "2024-01-01T00:00:02Z", False, [2]],
        ["it's", 1, None, None, "2024-01-01T00:00:03Z", False, []],
    ]  # fmt: skip
    if way == "pq":
        expected = [[*row[:6], str(row[6]).replace(" ", "").replace("[", "{").replace("]", "}")] for row in expected]
        found = [[*row[:4], row[4].replace("+00:00", "Z"), *row[5:]] for row in found]
    assert found == expected and empty is None


@pytest.mark.parametrize("way", WAYS)
def test_what_macros_of_grafana_write(client: Path, serving: Serving, way: str) -> None:
    between = "latest BETWEEN '2024-01-01T00:00:00.000000001Z' AND '2024-01-01T00:05:00.123Z'"
    found = rows(
        client, serving, way,
        (f'SELECT latest AS "time", mean AS "value", k AS metric FROM totals WHERE {between} ORDER BY 1', []),
        (f'SELECT floor(extract(epoch from latest)/300)*300 AS "time", count(*) AS n FROM totals WHERE {between} GROUP BY 1 ORDER BY 1', []),
        ('SELECT extract(epoch from latest) AS "time", n FROM totals WHERE n >= 1 AND n <= 1704067200 ORDER BY 1 LIMIT 1', []),
        ("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", []),
        ("SELECT current_setting('server_version_num')::int/100 AS version", []),
    )  # fmt: skip
    assert [row[2] for row in found[0]] == ["a", "b", "it's"]
    assert [(float(time), n) for time, n in found[1]] == [(1704067200, 3)]
    assert [(float(time), n) for time, n in found[2]] == [(1704067201.5, 2)]
    assert found[3:] == [None, [[1500]]]


@pytest.mark.parametrize("way", WAYS)
def test_values_of_the_client(client: Path, serving: Serving, way: str) -> None:
    text, none, numbers = rows(
        client, serving, way, ("SELECT n FROM totals WHERE k = $1", ["it's"]), ("SELECT n FROM totals WHERE k = $1", ["' OR TRUE --"]),
        ("SELECT k FROM totals WHERE n > $1 AND total < $2", ["1", "9"]),
    )  # fmt: skip
    assert (text, none, numbers) == ([[1]], None, [["a"]])


@pytest.mark.parametrize("way", ["pgx-simple", "pgx"])
def test_a_list_of_texts(client: Path, serving: Serving, way: str) -> None:
    found, cast = rows(
        client, serving, way, ("SELECT n FROM totals WHERE k = ANY($1) ORDER BY n", [["a", "it's"]]),
        ("SELECT n FROM totals WHERE k = ANY($1::text[])", [["b", "z"]]),
    )  # fmt: skip
    assert (found, cast) == ([[1], [2]], [[1]])


@pytest.mark.parametrize("way", WAYS)
def test_mistakes_are_told_and_the_connection_goes_on(client: Path, serving: Serving, way: str) -> None:
    wrong, refused, right = asked(
        client, serving, way, ("SELECT prize FROM totals", []), ("DROP VIEW totals", []), ("SELECT n FROM totals WHERE k = 'b'", [])
    )
    assert 'unknown column "prize"' in wrong["error"] and "read-only" in refused["error"] and right["rows"] == [[1]]
