"""Nexmark: persons, auctions and bids; the final view of every query, as unbounded streams by event time."""

from __future__ import annotations

import csv
import json
import random
import re
from functools import cache

import pytest

from cases.suite import FOLDER, Case, check, connect, create_views, declare, parameters, push, rows_of, spark_text

STREAMS = ("person", "auction", "bid")


@cache
def schema() -> dict[str, Case]:
    found: dict[str, Case] = json.loads((FOLDER / "nexmark" / "schema.json").read_text())
    return {name: {"table": name, "columns": found[name]["columns"]} for name in STREAMS}


@cache
def rows(stream: str) -> list[tuple[object, ...]]:
    numbers = [type_ == "bigint" for _, type_ in schema()[stream]["columns"]]
    with (FOLDER / "nexmark" / f"{stream}.csv").open() as file:
        lines = list(csv.reader(file))[1:]
    return [tuple(int(text) if number else text for number, text in zip(numbers, line, strict=True)) for line in lines]


def in_words_of_spark(sql: str) -> str:
    """What has another name: a function of the benchmark's own, and the second group of a match."""
    counted = re.sub(r"count_char\((\w+), ('\w')\)", r"length(\1) - length(replace(\1, \2, ''))", sql)
    spark = spark_text(counted, "" if "regexp_match" in counted else "postgres")
    return re.sub(r"\(regexp_match\((\w+), ('[^']*')\)\)\[2\]", r"nullif(regexp_extract(\1, \2, 2), '')", spark)


@pytest.mark.parametrize("case", parameters("nexmark/queries.jsonl"))
@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
def test_final_view(case: Case, kind: str) -> None:
    db = connect()
    for stream in STREAMS:
        declare(db, kind, schema()[stream], "TIMESTAMP BY date_time DELAY 1 DAY" if kind == "STREAM" else "")
    create_views(db, {**case, "dialect": ""}, in_words_of_spark(case["sql"]))
    for stream in STREAMS:
        push(db, stream, random.Random(4).sample(rows(stream), len(rows(stream))))
    check(case["expected"], rows_of(db))
