"""Jobs as text that say what they expect: tests that read as documentation.

    statement               a statement, or several; rows after ---- are the table that the last one gives
    view NAME               the query of a materialized view
    push STREAM             rows: @1 ann 1; the instant stands for the column of TIMESTAMP BY
    advance 8 [STREAM]      no row before second 8 will come any more
    clock 8                 the wall clock, by which arrivals are stamped, shows second 8
    end                     the input is over: everything up to the greatest timestamp is final
    changes NAME            checks the changes of a view that became final since the last look: + ann 1 @1
    answer NAME             checks the rows of a view over all that was pushed so far
    late STREAM             checks the rows that came too late, since the last look
    dead STREAM             checks the reasons of the rows that could not be read, since the last look
    failures                checks reasons and numbers of the expressions that failed: 2 division by zero
    explain NAME            checks that the plan of a view has these lines, in this order
    error [view]            checks that a statement, or the query of a view, fails where ^^^ points, as after ----
    oracle                  ends the input, and checks all changes of all views that are kept against the oracle

Times are seconds since the epoch, or calendar times. Everything is exact, floats too; the order of rows at one instant
is not looked at. The oracle wants jobs that declare and fill their tables before the first row and change none later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.schema import BEGINNING, Schema
from sash.testing.blocks import Block, blocks, words
from sash.testing.clock import FakeClock
from sash.testing.comparing import assert_same
from sash.testing.expecting import check_error, check_order, compare, given_row, typed, without_carets
from sash.testing.oracle import Oracle
from sash.testing.tables import changes, from_arrow, rows, show_row
from sash.testing.values import Row, instant

T = TypeVar("T")

_QUERY = "CREATE MATERIALIZED VIEW {} AS\n"


class SltError(AssertionError):
    """What is expected did not come; the message says in which line."""


def run_file(path: Path, *, batch_rows: int | None = None, expiry: str = "auto") -> int:
    """Run a job; the number of checks in it."""
    return run(path.read_text(encoding="utf-8"), name=path.name, batch_rows=batch_rows, expiry=expiry)


def run(text: str, *, name: str = "job", batch_rows: int | None = None, expiry: str = "auto") -> int:
    """Run a job that is a text; `batch_rows` cuts what is pushed to streams into smaller batches."""
    job = SltJob(batch_rows, expiry)
    for block in blocks(text):
        try:
            job.do(block)
        except (SashError, AssertionError) as error:
            raise SltError(f"{name}:{block.line}: {block.kind} {' '.join(block.words)}\n{error}") from error
    return job.checks


class SltJob:
    """A job on its way through its blocks."""

    def __init__(self, batch_rows: int | None = None, expiry: str = "auto") -> None:
        self.checks = 0
        self._batch_rows = batch_rows
        self._clock = FakeClock()
        self._db = EmbeddedDatabase(clock=self._clock, expiry=expiry)
        self._statements: list[str] = []
        self._pushed: dict[str, list[Sequence[object]]] = defaultdict(list)
        self._advanced = BEGINNING
        self._seen: Counter[str] = Counter()

    def do(self, block: Block) -> None:
        """Carry a block out; raises AssertionError where it expects something else."""
        steps = {
            "statement": self._statement, "view": self._view, "push": self._push, "advance": self._advance,
            "clock": self._set_clock, "end": self._end,
        }
        checks = {
            "changes": self._changes, "answer": self._answer, "late": self._late, "dead": self._dead,
            "failures": self._failures, "explain": self._explain, "error": self._error, "oracle": self._oracle,
        }
        if block.kind not in steps | checks:
            raise SashError(f'no block is called "{block.kind}"', f"blocks are: {choices(steps | checks)}")
        self.checks += block.kind in checks or block.expected is not None
        (steps | checks)[block.kind](block)

    def _statement(self, block: Block) -> None:
        result = self._db.execute(block.sql)
        self._statements.append(block.sql)
        if block.expected is not None:
            given = [] if result is None else _rows(result.to_arrow())
            compare(
                (" ".join(map(str, words(line))) for line in block.expected_rows),
                (" ".join(map(str, row)) for row in given),
            )

    def _view(self, block: Block) -> None:
        sql = _QUERY.format(block.word("the name of a view")) + block.sql
        self._db.execute(sql)
        self._statements.append(sql)

    def _push(self, block: Block) -> None:
        spec = self._stream(block)
        given = [given_row(line, spec) for line in block.rows]
        self._pushed[spec.name] += given
        size = self._batch_rows if self._batch_rows and not spec.is_table else max(1, len(given))
        for start in range(0, len(given), size):
            self._db.push(spec.name, given[start : start + size])

    def _advance(self, block: Block) -> None:
        if not 1 <= len(block.words) <= 2:
            raise SashError("advance needs an instant", "write: advance 8, or advance 8 STREAM")
        to = instant(block.words[0])
        self._db.advance(to, *block.words[1:])
        if len(block.words) == 1:
            self._advanced = max(self._advanced, to)

    def _set_clock(self, block: Block) -> None:
        self._clock.now = instant(block.word("an instant"))

    def _end(self, block: Block) -> None:
        self._db.end()

    def _changes(self, block: Block) -> None:
        name = block.word("the name of a view")
        schema = self._schema(name)
        new = [
            change._replace(row=typed(change.row, schema))
            for change in self._new(f"changes {name}", from_arrow(self._db.changes(name)))
        ]
        compare(map(str, changes(*block.rows, schema=schema)), map(str, new))
        check_order(new)

    def _answer(self, block: Block) -> None:
        name = block.word("the name of a view")
        schema = self._schema(name)
        actual = [typed(row, schema) for row in _rows(self._db.view(name).to_arrow())]
        compare(map(show_row, rows(*block.rows, schema=schema)), map(show_row, actual))

    def _late(self, block: Block) -> None:
        spec = self._stream(block)
        actual = [typed(row, spec.schema) for row in _rows(self._db.late(spec.name))]
        expected = [typed(given_row(line, spec), spec.schema) for line in block.rows]
        compare(map(show_row, expected), map(show_row, self._new(f"late {spec.name}", actual)))

    def _dead(self, block: Block) -> None:
        spec = self._stream(block)
        reasons = self._db.dead(spec.name).column("reason").to_pylist()
        compare(block.rows, self._new(f"dead {spec.name}", reasons))

    def _failures(self, block: Block) -> None:
        compare(block.rows, (f"{count} {reason}" for reason, count, _ in self._db.failures()))

    def _explain(self, block: Block) -> None:
        result = self._db.execute(f"EXPLAIN VIEW {block.word('the name of a view')}")
        assert result is not None
        plan: list[str] = result.to_arrow().column("plan").to_pylist()
        rest = iter(plan)
        for wanted in block.rows:
            if not any(wanted in line for line in rest):
                raise AssertionError("\n".join([f"the plan does not have, below the lines before: {wanted}", *plan]))

    def _error(self, block: Block) -> None:
        sql, carets = without_carets(block.body)
        if block.words == ("view",):
            sql = _QUERY.format("refused") + sql
            carets = None if carets is None else (carets[0] + 1, *carets[1:])
        try:
            self._db.execute(sql)
        except SashError as error:
            check_error(" ".join(block.expected or ()), carets, error)
        else:
            raise AssertionError("there is no error")

    def _oracle(self, block: Block) -> None:
        self._db.end()
        job = ";\n".join(self._statements)
        oracle, later = Oracle(job, self._pushed), Oracle(job, self._pushed, until=self._advanced - 1)
        for name in self._db.materialized():
            expected = (oracle if oracle.end_of(name) >= self._advanced - 1 else later).changelog(name)
            try:
                assert_same(expected, from_arrow(self._db.changes(name)))
            except AssertionError as error:
                raise AssertionError(f'view "{name}": {error}') from None

    def _new(self, what: str, came: Sequence[T]) -> Sequence[T]:
        """What came since the last look."""
        seen, self._seen[what] = self._seen[what], len(came)
        return came[seen:]

    def _stream(self, block: Block) -> StreamSpec:
        name, known = block.word("the name of a stream"), self._db.catalog.streams
        if name.lower() not in known:
            raise SashError(f'unknown stream or table "{name}"', f"there are: {choices(known)}")
        return known[name.lower()]

    def _schema(self, view: str) -> Schema:
        known = self._db.catalog.views
        if view.lower() not in known:
            raise SashError(f'unknown view "{view}"', f"views are: {choices(known)}")
        return known[view.lower()].plan.schema


def _rows(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
