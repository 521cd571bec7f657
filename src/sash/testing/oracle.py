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
from dataclasses import dataclass

import pyarrow as pa

from sash.errors import SashError, choices
from sash.plan.nodes import Plan, scans
from sash.plan.streams import Updates
from sash.plan.times import Time, time_of
from sash.schema import BEGINNING, FOREVER, Schema
from sash.sql.bind import bind
from sash.sql.catalog import Catalog, ViewDefinition
from sash.sql.define import define
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import Advance, CreateAggregate, CreateStream, CreateView, Drop, ParsedQuery
from sash.testing.arrivals import Rows, check_names, instants_of, read_rows, split_late
from sash.testing.duckdb_sql.inputs import OracleInput, OracleMinus, OracleSequence
from sash.testing.duckdb_sql.query import duckdb_query
from sash.testing.negation import Negation
from sash.testing.recompute import Constant, Duck, Recomputed, Relation, Windowed, arrow
from sash.testing.sequences import Half, pairs
from sash.testing.statements import Came, Changing, Statement, instant_of
from sash.testing.tables import Change, in_order
from sash.testing.values import Instant, Row, microseconds
from sash.testing.windows import Arrival


@dataclass(frozen=True)
class Setting:
    """What the parts of a query share: its beginning, and the streams in whose time it lives."""

    begin: int
    time: Time


class Oracle:
    """The views of a job, over rows that are given at once.

    Rows are tuples, dictionaries or Arrow tables, in the order of their source; a TIMESTAMP may be written as seconds
    since the epoch or as text. `stamps` are the instants of arrival for streams without TIMESTAMP BY. `partitions` tell of
    every row the partition of its source, where it has some; its position is its place. `statements` change tables, in their
    order. Time ends for a view at the greatest timestamp of the streams that it reads, or at `until`.
    """

    def __init__(
        self, job: str, streams: Mapping[str, Rows], *, stamps: Mapping[str, Sequence[Instant]] | None = None,
        until: Instant | None = None, partitions: Mapping[str, Sequence[int | str]] | None = None,
        statements: Sequence[Statement] = (),
    ) -> None:  # fmt: skip
        self._catalog = Catalog()
        self._queries: dict[str, ParsedQuery] = {}
        self._define(job)
        self._rows: dict[str, list[Row]] = {}
        self._arrivals: dict[str, list[Arrival]] = {}
        self._late: dict[str, list[Row]] = {}
        self._came: dict[str, Came] = {}
        self._read(streams, stamps or {}, partitions or {})
        self._statements = [self._bound(one) for one in statements]
        self._duck = Duck()
        self._views: dict[tuple[str, Time], Recomputed] = {}
        self._until = None if until is None else microseconds(until)
        self.end = max((self.end_of(view) for view in self._catalog.views), default=BEGINNING)

    @property
    def views(self) -> list[str]:
        return [view.name for view in self._catalog.views.values()]

    def schema(self, view: str) -> Schema:
        """The columns of a view."""
        return self._view(view).schema

    def changelog(self, view: str) -> list[Change]:
        """Every change of a view, by instant, then departures before arrivals, then the full row."""
        end = self.end_of(view)
        changes = self._view(view).changelog(end)
        period = self._queries[view.lower()].emit
        return changes if period is None else _emitted(changes, period, end)

    def end_of(self, view: str) -> int:
        """The last instant of a view."""
        if self._until is not None:
            return self._until
        reads = _streams(self._definition(view).plan)
        return max((self._arrivals[name][-1].ts for name in reads if self._arrivals[name]), default=BEGINNING)

    def answer(self, view: str, at: Instant | None = None) -> Counter[Row]:
        """The rows of a view and how often each is there, at an instant or at the end."""
        now = self.end_of(view) if at is None else microseconds(at)
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

    def _read(
        self, streams: Mapping[str, Rows], stamps: Mapping[str, Sequence[Instant]], partitions: Mapping[str, Sequence[int | str]]
    ) -> None:
        check_names([*streams, *stamps, *partitions], self._catalog.streams)
        sources = {name.lower(): values for name, values in partitions.items()}
        given = {name.lower(): rows for name, rows in streams.items()}
        instants = {name.lower(): values for name, values in stamps.items()}
        for name, spec in self._catalog.streams.items():
            rows = read_rows(given.get(name, ()), spec.schema)
            if spec.is_table:
                self._rows[name] = rows
            else:
                self._arrivals[name], self._late[name] = split_late(spec, rows, instants.get(name), sources.get(name))
                self._came[name] = Came(spec, instants_of(spec, rows, instants.get(name)))

    def _bound(self, statement: Statement) -> tuple[Statement, Counter[Row]]:
        """A statement, and what it changes in its table."""
        check_names([statement.table, *statement.after], self._catalog.streams)
        spec = self._catalog.streams[statement.table.lower()]
        if not spec.is_table or spec.updates is not Updates.RETROACTIVE:
            raise SashError(f'"{spec.name}" is no table whose changes revise results', "declare it RETROACTIVE")
        change = Counter(read_rows(statement.inserted, spec.schema))
        change.subtract(read_rows(statement.deleted, spec.schema))
        return statement, change

    def _begin(self, plan: Plan) -> int:
        """The first row of any stream; a query of tables alone has no stream to wait for."""
        reads = _streams(plan)
        firsts = [self._arrivals[name][0].ts for name in reads if self._arrivals[name]]
        return min(firsts, default=FOREVER) if reads else BEGINNING

    def _definition(self, name: str) -> ViewDefinition:
        if name.lower() not in self._catalog.views:
            raise SashError(f'unknown view "{name}"', f"views are: {choices(self.views)}")
        return self._catalog.views[name.lower()]

    def _view(self, name: str, reader: Time | None = None) -> Recomputed:
        """A view; one that is not kept, or reads no stream, has the time of who reads it."""
        key, view = name.lower(), self._definition(name)
        own = time_of(view.plan)
        time = own if reader is None or (view.is_materialized and any(own)) else reader
        if (key, time) not in self._views:
            self._views[key, time] = self._recomputed(self._queries[key], view.plan, Setting(self._begin(view.plan), time))
        return self._views[key, time]

    def _recomputed(self, query: ParsedQuery, plan: Plan, setting: Setting) -> Recomputed:
        text = duckdb_query(query, self._catalog)
        inputs = [self._relation(each, setting) for each in text.inputs]
        return Recomputed(self._duck, text.sql, inputs, plan.schema, setting.begin, self.end, text.time)

    def _table(self, name: str, time: Time) -> Relation:
        rows, schema = self._rows[name.lower()], self._catalog.streams[name.lower()].schema
        changes = [
            (instant_of(time, one.after, self._came), change)
            for one, change in self._statements if one.table.lower() == name.lower()
        ]  # fmt: skip
        return Changing([(BEGINNING, Counter(rows)), *changes], schema) if changes else Constant(rows, schema)

    def _relation(self, item: OracleInput, setting: Setting) -> Relation:
        """An input of a query; the queries in it begin with it."""
        if item.minus is not None:
            return self._negation(item.minus, setting)
        if item.sequence is not None:
            return self._half(item, item.sequence, setting)
        if item.window is not None:
            arrivals, schema = self._stream(item, setting)
            return Windowed(arrivals, schema, item.window)
        view = self._answer(item, setting)
        if view is not None:
            return view
        assert item.name is not None
        return self._table(item.name, setting.time)

    def _stream(self, item: OracleInput, setting: Setting) -> tuple[list[Arrival], Schema]:
        """The rows of a stream, or of the stream that a view or query gives."""
        view = self._answer(item, setting)
        if view is not None:
            return view.stream(item.reads, self.end), view.schema
        assert item.name is not None
        return self._arrivals[item.name.lower()], self._catalog.streams[item.name.lower()].schema

    def _answer(self, item: OracleInput, setting: Setting) -> Recomputed | None:
        """The query or view that an input is, if it is one."""
        if item.query is not None:
            return self._recomputed(item.query, bind(item.query, self._catalog), setting)
        is_view = item.name is not None and item.name.lower() in self._catalog.views
        return self._view(item.name, setting.time) if is_view and item.name is not None else None

    def _half(self, item: OracleInput, sequence: OracleSequence, setting: Setting) -> Relation:
        sides = [self._stream(side, setting) for side in (sequence.left, sequence.right)]
        (left, left_schema), (right, right_schema) = sides
        tables = [_numbered(left, left_schema), _numbered(right, right_schema)]
        meeting = {(one, other) for one, other in self._duck.run(sequence.sql, tables)}
        found = pairs(left, right, meeting, sequence.pairing, sequence.within)
        assert item.window is not None
        whole = Windowed(found, Schema(left_schema.fields + right_schema.fields), item.window)
        width = len(left_schema)
        return Half(whole, slice(width, None) if item.is_right else slice(0, width))

    def _negation(self, minus: OracleMinus, setting: Setting) -> Relation:
        left, right = self._relation(minus.left, setting), self._relation(minus.right, setting)
        return Negation(left, right, minus.left_keys, minus.right_keys, by_position=minus.by_position)


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
