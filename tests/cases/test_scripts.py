"""Inserts into and deletes from tables, batch by batch: the whole answer at every checkpoint."""

from __future__ import annotations

import pytest

from cases.suite import Case, check, connect, create_views, declare, parameters, push, rows_of, spark_text


@pytest.mark.parametrize("case", parameters("scripts.jsonl"))
def test_answers_at_checkpoints(case: Case) -> None:
    db = connect()
    for table in case["tables"]:
        declare(db, "TABLE", table)
    create_views(db, case, spark_text(case["query"], case["dialect"]))
    for number, batch in enumerate(case["batches"], 1):
        if batch["delete"]:
            db.delete(batch["table"], [tuple(row) for row in batch["delete"]])
        push(db, batch["table"], batch["insert"])
        for checkpoint in case["checkpoints"]:
            if checkpoint["after_batch"] == number:
                check(checkpoint["expected"], rows_of(db), f"after batch {number}")
