"""What the views of a job must show, found out by recomputing every answer with DuckDB at every instant.

    oracle = Oracle(job, {"conn": [(1, "ann"), (5, "bob")]})
    oracle.changelog("talkers")      every change, exactly
    oracle.answer("talkers")         the rows at the end

The SQL front end is the engine's own, so that both mean the same query; from there on the ways part. DuckDB adds floats
one by one, so compare with `assert_same`, and where a condition reads them use numbers whose sums are exact, such as
multiples of 1/4.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from sash.errors import SashError, choices
from sash.logical.nodes import Plan, scans
from sash.schema import BEGINNING, FOREVER, Schema
from sash.sql.binder import bind
from sash.sql.catalog import Catalog
from sash.sql.define import define
from sash.sql.oracle_inputs import OracleInput, OracleMinus, OracleSequence
from sash.sql.oracle_sql import duckdb_query
from sash.sql.parse import parse_statements
from sash.sql.statements import Advance, CreateAggregate, CreateStream, CreateView, Drop, ParsedQuery
from sash.testing.arrivals import Rows, check_names, read_rows, split_late
from sash.testing.negation import Negation
from sash.testing.recompute import Constant, Duck, Recomputed, Relation, Windowed, arrow
from sash.testing.sequences import Half, pairs
from sash.testing.tables import Change, in_order
from sash.testing.values import Instant, Row, microseconds
from sash.testing.windows import Arrival


class Oracle:
    """The views of a job, over rows that are given at once.

    Rows are tuples, dictionaries or Arrow tables, in the order of their source; a TIMESTAMP may be written as seconds
    since the epoch or as text. `stamps` are the instants of arrival for streams without TIMESTAMP BY. Time ends at the
    greatest timestamp of all streams that the views read, or at `until`.
    """

    def __init__(
        self, job: str, streams: Mapping[str, Rows], *, stamps: Mapping[str, Sequence[Instant]] | None = None,
        until: Instant | None = None,
    ) -> None:  # fmt: skip
        self._catalog = Catalog()
        self._queries: dict[str, ParsedQuery] = {}
        self._define(job)
        self._rows: dict[str, list[Row]] = {}
        self._arrivals: dict[str, list[Arrival]] = {}
        self._late: dict[str, list[Row]] = {}
        self._read(streams, stamps or {})
        self._duck = Duck()
        self._views: dict[str, Recomputed] = {}
        self.end = self._greatest() if until is None else microseconds(until)

    @property
    def views(self) -> list[str]:
        return [view.name for view in self._catalog.views.values()]

    def schema(self, view: str) -> Schema:
        """The columns of a view."""
        return self._view(view).schema

    def changelog(self, view: str) -> list[Change]:
        """Every change of a view, by instant, then departures before arrivals, then the full row."""
        changes = self._view(view).changelog(self.end)
        period = self._queries[view.lower()].emit
        return changes if period is None else _emitted(changes, period, self.end)

    def answer(self, view: str, at: Instant | None = None) -> Counter[Row]:
        """The rows of a view and how often each is there, at an instant or at the end."""
        now = self.end if at is None else microseconds(at)
        if now > self.end:
            raise SashError("nothing is known about instants after the end", "give the oracle a later until")
        return Counter(self._view(view).bag(now))

    def late(self, stream: str) -> list[Row]:
        """The rows of a stream that came too late, in their order."""
        check_names([stream], self._catalog.streams)
        return list(self._late.get(stream.lower(), ()))

    def _define(self, job: str) -> None:
        for statement in parse_statements(job):
            if isinstance(statement, Advance):
                raise SashError("the oracle knows the end of time only", "leave ADVANCE out and give until instead")
            if isinstance(statement, CreateStream | CreateView | CreateAggregate | Drop):
                is_new = define(statement, self._catalog)
                if is_new and isinstance(statement, CreateView):
                    self._queries[statement.name.text.lower()] = statement.query

    def _read(self, streams: Mapping[str, Rows], stamps: Mapping[str, Sequence[Instant]]) -> None:
        check_names([*streams, *stamps], self._catalog.streams)
        given = {name.lower(): rows for name, rows in streams.items()}
        instants = {name.lower(): values for name, values in stamps.items()}
        for name, spec in self._catalog.streams.items():
            rows = read_rows(given.get(name, ()), spec.schema)
            if spec.is_table:
                self._rows[name] = rows
            else:
                self._arrivals[name], self._late[name] = split_late(spec, rows, instants.get(name))

    def _greatest(self) -> int:
        reads = (name for view in self._catalog.views.values() for name in _streams(view.plan))
        return max((self._arrivals[name][-1].ts for name in reads if self._arrivals[name]), default=BEGINNING)

    def _begin(self, plan: Plan) -> int:
        """The first row of any stream; a query of tables alone has no stream to wait for."""
        reads = _streams(plan)
        firsts = [self._arrivals[name][0].ts for name in reads if self._arrivals[name]]
        return min(firsts, default=FOREVER) if reads else BEGINNING

    def _view(self, name: str) -> Recomputed:
        key = name.lower()
        if key not in self._catalog.views:
            raise SashError(f'unknown view "{name}"', f"views are: {choices(self.views)}")
        if key not in self._views:
            plan = self._catalog.views[key].plan
            self._views[key] = self._recomputed(self._queries[key], plan, self._begin(plan))
        return self._views[key]

    def _recomputed(self, query: ParsedQuery, plan: Plan, begin: int) -> Recomputed:
        text = duckdb_query(query, self._catalog)
        inputs = [self._relation(each, begin) for each in text.inputs]
        return Recomputed(self._duck, text.sql, inputs, plan.schema, begin, self.end, text.time)

    def _relation(self, item: OracleInput, begin: int) -> Relation:
        """An input of a query; the queries in it begin with it."""
        if item.minus is not None:
            return self._negation(item.minus, begin)
        if item.sequence is not None:
            return self._half(item, item.sequence, begin)
        if item.window is not None:
            arrivals, schema = self._stream(item, begin)
            return Windowed(arrivals, schema, item.window)
        view = self._answer(item, begin)
        if view is not None:
            return view
        assert item.name is not None
        return Constant(self._rows[item.name.lower()], self._catalog.streams[item.name.lower()].schema)

    def _stream(self, item: OracleInput, begin: int) -> tuple[list[Arrival], Schema]:
        """The rows of a stream, or of the stream that a view or query gives."""
        view = self._answer(item, begin)
        if view is not None:
            return view.stream(item.reads, self.end), view.schema
        assert item.name is not None
        return self._arrivals[item.name.lower()], self._catalog.streams[item.name.lower()].schema

    def _answer(self, item: OracleInput, begin: int) -> Recomputed | None:
        """The query or view that an input is, if it is one."""
        if item.query is not None:
            return self._recomputed(item.query, bind(item.query, self._catalog), begin)
        is_view = item.name is not None and item.name.lower() in self._catalog.views
        return self._view(item.name) if is_view and item.name is not None else None

    def _half(self, item: OracleInput, sequence: OracleSequence, begin: int) -> Relation:
        sides = [self._stream(side, begin) for side in (sequence.left, sequence.right)]
        (left, left_schema), (right, right_schema) = sides
        tables = [_numbered(left, left_schema), _numbered(right, right_schema)]
        meeting = {(one, other) for one, other in self._duck.run(sequence.sql, tables)}
        found = pairs(left, right, meeting, sequence.pairing, sequence.within)
        assert item.window is not None
        whole = Windowed(found, Schema(left_schema.fields + right_schema.fields), item.window)
        width = len(left_schema)
        return Half(whole, slice(width, None) if item.is_right else slice(0, width))

    def _negation(self, minus: OracleMinus, begin: int) -> Relation:
        left, right = self._relation(minus.left, begin), self._relation(minus.right, begin)
        return Negation(left, right, minus.left_keys, minus.right_keys)


def _streams(plan: Plan) -> set[str]:
    """The streams that a plan reads, without its tables."""
    return {scan.name.lower() for scan in scans(plan) if not scan.is_table}


def _numbered(arrivals: Sequence[Arrival], schema: Schema) -> pa.Table:
    """The rows of a stream with their places."""
    table = arrow([arrival.row for arrival in arrivals], schema)
    return table.append_column("_row", pa.array(range(len(arrivals)), pa.int64()))


def _emitted(changes: Sequence[Change], period: int, end: int) -> list[Change]:
    """EMIT EVERY: the net changes of each period (k * period, (k + 1) * period], at its end or at the end of all."""
    net: dict[int, Counter[Row]] = defaultdict(Counter)
    for change in changes:
        net[min(-(-change.ts // period) * period, end)][change.row] += change.op
    found = [(ts, row, count) for ts, rows in net.items() for row, count in rows.items()]
    return in_order(Change(1 if count > 0 else -1, ts, row) for ts, row, count in found for _ in range(abs(count)))
