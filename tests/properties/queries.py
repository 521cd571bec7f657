"""Random queries as SQL text, so that a counter-example can be read: operators in each other, up to three deep.

    relation   an item of FROM: a stream in a window, a table, a view, a subquery, a stream of what enters or leaves one
    query      SELECT of any kind over relations; its columns are called c0, c1, …

A query can be asked for columns of given types, as the sides of a set operator must have the same. What rounds (AVG, STDDEV and
the like) comes only where nobody compares it: in the outermost query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from expressions import SUMMABLE, Column, condition, equality, expression
from hypothesis import strategies as st
from inputs import Stream, streams
from neighbours import nearness, over

from sash.schema import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Kind, Type, decimal

DEPTH = 2  # subqueries in each other, below the outermost query
SEMI_OR_ANTI = ("LEFT SEMI", "LEFT ANTI")


@dataclass(frozen=True)
class Relation:
    """An item of FROM, and the columns it has."""

    sql: str
    columns: tuple[tuple[str, Type], ...]


@dataclass(frozen=True)
class Answer:
    """A query and the types of its columns c0, c1, …"""

    sql: str
    types: tuple[Type, ...]

    @property
    def columns(self) -> tuple[tuple[str, Type], ...]:
        return tuple((f"c{place}", type_) for place, type_ in enumerate(self.types))


@dataclass(frozen=True)
class Job:
    """Streams with their rows, and views; the last one, `v`, is the one that is compared."""

    streams: tuple[Stream, ...]
    views: tuple[str, ...]

    @property
    def sql(self) -> str:
        return "\n".join([*(stream.declaration for stream in self.streams), *self.views])

    def __repr__(self) -> str:
        rows = "\n".join(f"    {stream.name!r}: {stream.rows!r}," for stream in self.streams)
        return f'\nfind("""\n{self.sql}\n""", {{\n{rows}\n}})\n'


@st.composite
def jobs(draw: st.DrawFn, most: int = 12) -> Job:
    found = draw(streams(most))
    maker = Maker(draw, found)
    answer = maker.query(DEPTH, None, is_outermost=True)
    emit = f" EMIT EVERY {draw(st.integers(1, 4))} SECONDS" if draw(st.integers(0, 7)) == 0 else ""
    return Job(tuple(found), (*maker.views, f"CREATE MATERIALIZED VIEW v AS {answer.sql}{emit};"))


class Maker:
    """Makes one job's queries from the draws of one example."""

    def __init__(self, draw: st.DrawFn, found: Sequence[Stream]) -> None:
        self._draw = draw
        self._streams = found
        self._aliases = 0
        self.views: list[str] = []
        self.known: list[Relation] = []  # views that may be read besides
        self.tables = 1  # in how many of ten cases a table is read, where there is one

    def query(self, depth: int, types: Sequence[Type] | None, is_outermost: bool = False) -> Answer:
        """A query; `types` are those its columns must have, if somebody asks for them."""
        if types is None and self._one_in(3):
            return self._grouped(depth, is_outermost)
        plain: list[Callable[[int, Sequence[Type] | None], Answer]] = [
            self._select, self._select, self._join, self._outer_join, self._filtered_by_query, self._correlated, self._set_operation, self._first_rows,
            self._numbered, self._distinct, self._sequence, self._minus, self._over, self._as_of,
        ]  # fmt: skip
        return self._draw(st.sampled_from(plain))(depth, types)

    def _select(self, depth: int, types: Sequence[Type] | None) -> Answer:
        source, alias = self._named(depth)
        return self._projected(f"FROM {source.sql} {alias}", self._scope(source, alias), types)

    def _projected(self, rest: str, scope: Sequence[Column], types: Sequence[Type] | None, tail: str = "") -> Answer:
        """SELECT some expressions … WHERE, sometimes, a condition."""
        wanted = self._types(scope) if types is None else types
        items = ", ".join(f"{self._draw(expression(type_, scope))} AS c{n}" for n, type_ in enumerate(wanted))
        where = f" WHERE {self._draw(condition(scope))}" if self._one_in(3) else ""
        return Answer(f"SELECT {items} {rest}{where}{tail}", tuple(wanted))

    def _types(self, scope: Sequence[Column]) -> list[Type]:
        return self._draw(st.lists(st.sampled_from([column.type for column in scope]), min_size=1, max_size=3))

    def _join(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left, x = self._named(depth)
        right, y = self._named(depth)
        one, other = self._scope(left, x), self._scope(right, y)
        on = [self._draw(equality(one, other)) for _ in range(self._draw(st.integers(1, 2)))]
        if self._one_in(3):
            on.append(self._draw(condition([*one, *other])))
        kind = f"JOIN {right.sql} {y} ON {' AND '.join(on)}"
        if self._one_in(10):
            kind = f"CROSS JOIN {right.sql} {y}"
        return self._projected(f"FROM {left.sql} {x} {kind}", [*one, *other], types)

    def _outer_join(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left, x = self._named(depth)
        right, y = self._named(depth)
        one, other = self._scope(left, x), self._scope(right, y)
        on = [self._draw(equality(one, other))]
        if self._one_in(3):
            on.append(self._draw(condition([*one, *other])))
        side = self._draw(st.sampled_from(["LEFT", "RIGHT", "FULL OUTER", *SEMI_OR_ANTI]))
        scope = one if side in SEMI_OR_ANTI else [*one, *other]
        return self._projected(f"FROM {left.sql} {x} {side} JOIN {right.sql} {y} ON {' AND '.join(on)}", scope, types)

    def _filtered_by_query(self, depth: int, types: Sequence[Type] | None) -> Answer:
        """IN, EXISTS, and a comparison with a subquery's one value."""
        source, x = self._named(depth)
        scope = self._scope(source, x)
        column = self._draw(st.sampled_from(scope))
        way = self._draw(st.sampled_from(["IN", "NOT IN", "EXISTS", "NOT EXISTS", "VALUE"]))
        if way in ("IN", "NOT IN"):
            where = f"{column.text} {way} ({self.query(max(0, depth - 1), [column.type]).sql})"
        elif way == "VALUE":
            other, y = self._named(max(0, depth - 1))
            count = self._draw(expression(BIGINT, scope))
            where = f"{count} <= (SELECT COUNT(*) FROM {other.sql} {y})"
        else:
            other, y = self._named(max(0, depth - 1))
            inner = [self._draw(equality(scope, self._scope(other, y)))]
            if self._one_in(3):
                inner.append(self._draw(condition([*scope, *self._scope(other, y)])))
            where = f"{way} (SELECT 1 FROM {other.sql} {y} WHERE {' AND '.join(inner)})"
        wanted = self._types(scope) if types is None else types
        items = ", ".join(f"{self._draw(expression(type_, scope))} AS c{n}" for n, type_ in enumerate(wanted))
        return Answer(f"SELECT {items} FROM {source.sql} {x} WHERE {where}", tuple(wanted))

    def _correlated(self, depth: int, types: Sequence[Type] | None) -> Answer:
        """Subqueries that name columns of the query around them: as values, as conditions, in FROM."""
        source, x = self._named(depth)
        scope = self._scope(source, x)
        way = self._draw(st.sampled_from(["VALUE", "VALUE", "CONDITION", "CONDITION", "LATERAL", "GROUPS"]))
        if way == "VALUE":
            inner, type_ = self._single_value(scope, depth)
            return self._projected(f"FROM (SELECT *, ({inner}) AS w FROM {source.sql} {x}) {x}", [*scope, Column(f"{x}.w", type_)], types)
        if way == "LATERAL":
            inner, y = self._tied_query(scope, depth), self._alias()
            join = self._draw(st.sampled_from(["CROSS JOIN LATERAL ({}) {}", "LEFT JOIN LATERAL ({}) {} ON true"]))
            found = [*scope, *(Column(f"{y}.{name}", type_) for name, type_ in inner.columns)]
            return self._projected(f"FROM {source.sql} {x} {join.format(inner.sql, y)}", found, types)
        if way == "GROUPS" and types is None:
            key = self._draw(st.sampled_from(scope))
            inner, _ = self._single_value([key], depth, BIGINT)
            text = f"SELECT {key.text} AS c0, COUNT(*) AS c1 FROM {source.sql} {x} GROUP BY {key.text} HAVING COUNT(*) >= ({inner})"
            return Answer(text, (key.type, BIGINT))
        wanted = self._types(scope) if types is None else types
        items = ", ".join(f"{self._draw(expression(type_, scope))} AS c{n}" for n, type_ in enumerate(wanted))
        where = self._asked(scope, depth)
        if self._one_in(3):
            where = f"{where} OR {self._draw(condition(scope))}"
        return Answer(f"SELECT {items} FROM {source.sql} {x} WHERE {where}", tuple(wanted))

    def _asked(self, scope: Sequence[Column], depth: int) -> str:
        """A condition on a subquery that names columns of the scope."""
        inner = self._tied_query(scope, depth)
        found = [column for column in scope if column.type == inner.types[0]]
        if not found or self._one_in(3):
            return f"{self._draw(st.sampled_from(['EXISTS', 'NOT EXISTS']))} ({inner.sql})"
        column, y = self._draw(st.sampled_from(found)), self._alias()
        how = self._draw(st.sampled_from(["IN", "NOT IN", "= ANY", "<> ALL", "< ANY", ">= ALL"]))
        return f"{column.text} {how} (SELECT {y}.c0 FROM ({inner.sql}) {y})"

    def _tied_query(self, outer: Sequence[Column], depth: int) -> Answer:
        """A query that names columns of a scope around it, below one or two operators."""
        other, y = self._named(max(0, depth - 1))
        inner = self._scope(other, y)
        where = self._draw(equality(outer, inner)) if self._one_in(2) else self._draw(condition([*outer, *inner]))
        if depth and self._one_in(4):
            where = f"{where} AND {self._asked([*outer, *inner], depth - 1)}"
        wanted = self._types(inner)
        items = ", ".join(f"{self._draw(expression(type_, [*outer, *inner]))} AS c{n}" for n, type_ in enumerate(wanted))
        plain = Answer(f"SELECT {items} FROM {other.sql} {y} WHERE {where}", tuple(wanted))
        way = self._draw(st.integers(0, 7))
        if way == 0:
            return Answer(f"{plain.sql} ORDER BY c0 LIMIT {self._draw(st.integers(1, 2))}", plain.types)
        if way == 1:
            again = f"SELECT {items} FROM {other.sql} {y} WHERE {self._draw(condition([*outer, *inner]))}"
            how = self._draw(st.sampled_from(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"]))
            return Answer(f"SELECT * FROM ({plain.sql} {how} {again}) {self._alias()}", plain.types)
        if way == 2:
            z = self._alias()
            return Answer(f"SELECT {z}.c0, COUNT(*) AS c1 FROM ({plain.sql}) {z} GROUP BY {z}.c0", (plain.types[0], BIGINT))
        if way == 3:
            return Answer(plain.sql.replace("SELECT", "SELECT DISTINCT", 1), plain.types)
        return plain

    def _single_value(self, outer: Sequence[Column], depth: int, type_: Type | None = None) -> tuple[str, Type]:
        """A query that stands for a value: an aggregate, or a column of which there may be several rows."""
        inner, y = self._tied_query(outer, depth), self._alias()
        if type_ is not None or self._one_in(2):
            return f"SELECT COUNT({y}.c0) FROM ({inner.sql}) {y}", BIGINT
        if self._one_in(2):
            return f"SELECT MAX({y}.c0) FROM ({inner.sql}) {y}", inner.types[0]
        return f"SELECT {y}.c0 FROM ({inner.sql}) {y}", inner.types[0]

    def _set_operation(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left = self.query(max(0, depth - 1), types)
        right = self.query(max(0, depth - 1), left.types)
        how = self._draw(st.sampled_from(["UNION", "INTERSECT", "EXCEPT"])) + self._draw(st.sampled_from(["", " ALL"]))
        return Answer(f"(SELECT * FROM ({left.sql}) {self._alias()}) {how} (SELECT * FROM ({right.sql}) {self._alias()})", left.types)

    def _first_rows(self, depth: int, types: Sequence[Type] | None) -> Answer:
        answer = self._select(depth, types)
        offset = f" OFFSET {self._draw(st.integers(1, 2))}" if self._one_in(4) else ""
        return Answer(f"{answer.sql} ORDER BY {self._order(answer)} LIMIT {self._draw(st.integers(1, 4))}{offset}", answer.types)

    def _order(self, answer: Answer) -> str:
        places = self._draw(st.lists(st.integers(0, len(answer.types) - 1), min_size=1, max_size=2, unique=True))
        ways = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]
        return ", ".join(f"c{place}{self._draw(st.sampled_from(ways))}" for place in places)

    def _numbered(self, depth: int, types: Sequence[Type] | None) -> Answer:
        answer = self.query(max(0, depth - 1), types)
        order = self._order(answer)
        partition = f"PARTITION BY c{self._draw(st.integers(0, len(answer.types) - 1))} " if self._draw(st.booleans()) else ""
        number = f"ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS rn"
        shown = answer.types if types is not None else (*answer.types, BIGINT)
        items = ", ".join(f"{name} AS c{n}" for n, name in enumerate([*(name for name, _ in answer.columns), "rn"][: len(shown)]))
        inner = f"SELECT *, {number} FROM ({answer.sql}) {self._alias()}"
        bounds = ["rn <= 1", "rn <= 2", "rn = 2", "rn BETWEEN 2 AND 3"]
        return Answer(f"SELECT {items} FROM ({inner}) {self._alias()} WHERE {self._draw(st.sampled_from(bounds))}", shown)

    def _over(self, depth: int, types: Sequence[Type] | None) -> Answer:
        answer = self.query(max(0, depth - 1), types)
        columns = [Column(*column) for column in answer.columns]
        argument = self._draw(st.sampled_from(columns))
        call, type_ = self._draw(over(columns, self._order(answer), _sum_type(argument.type), argument))
        shown = answer.types if types is not None else (*answer.types, type_)
        items = ", ".join(f"{name} AS c{n}" for n, name in enumerate([*(name for name, _ in answer.columns), "w"][: len(shown)]))
        inner = f"SELECT *, {call} AS w FROM ({answer.sql}) {self._alias()}"
        where = "" if types is None else " WHERE w IS NOT NULL"
        return Answer(f"SELECT {items} FROM ({inner}) {self._alias()}{where}", shown)

    def _as_of(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left, x = self._named(depth)
        right, y = self._named(depth)
        one, other = self._scope(left, x), self._scope(right, y)
        on = self._draw(nearness(one, other))
        if on is None:
            return self._projected(f"FROM {left.sql} {x}", one, types)
        kind = self._draw(st.sampled_from(["ASOF", "ASOF LEFT"]))
        return self._projected(f"FROM {left.sql} {x} {kind} JOIN {right.sql} {y} ON {on}", [*one, *other], types)

    def _distinct(self, depth: int, types: Sequence[Type] | None) -> Answer:
        answer = self._select(depth, types)
        return Answer(answer.sql.replace("SELECT", "SELECT DISTINCT", 1), answer.types)

    def _sequence(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left, x = self._stream(depth), self._alias()
        right, y = self._stream(depth), self._alias()
        one, other = self._scope(left, x), self._scope(right, y)
        on = [] if self._one_in(5) else [self._draw(equality(one, other))]
        if self._one_in(4):
            on.append(self._draw(condition([*one, *other])))
        clause = f" ON {' AND '.join(on)}" if on else ""
        pairing = self._draw(st.sampled_from(["RECENT", "CHRONICLE"]))
        within = f" WITHIN {self._draw(st.integers(1, 6))} SECONDS" if self._draw(st.booleans()) else ""
        window = self._draw(st.sampled_from([" [RANGE 3 SECONDS]", " [ROWS 2]", " [NOW]", "", " [RANGE 4 SECONDS SLIDE 2 SECONDS]"]))
        text = f"FROM {left.sql} {x} FOLLOWED BY {right.sql} {y} USING {pairing}{clause}{within}{window}"
        return self._projected(text, [*one, *other], types)

    def _minus(self, depth: int, types: Sequence[Type] | None) -> Answer:
        left, x = self._named(depth)
        right, y = self._named(depth)
        one, other = self._scope(left, x), self._scope(right, y)
        pairs = [f"{a.text} = {b.text}" for a in one for b in other if a.type == b.type]
        minus = f" MINUS {right.sql} {y} ON {self._draw(st.sampled_from(pairs))}" if pairs else ""
        return self._projected(f"FROM {left.sql} {x}{minus}", one, types)

    def _grouped(self, depth: int, is_outermost: bool) -> Answer:
        source, alias = self._named(depth)
        scope = self._scope(source, alias)
        keys = self._draw(st.lists(st.sampled_from(scope), max_size=2, unique=True))
        calls = [self._call(scope, is_outermost) for _ in range(self._draw(st.integers(1, 3)))]
        items = [(key.text, key.type) for key in keys] + calls
        text = ", ".join(f"{item} AS c{n}" for n, (item, _) in enumerate(items))
        where = f" WHERE {self._draw(condition(scope))}" if self._one_in(4) else ""
        group = f" GROUP BY {self._grouping([key.text for key in keys])}" if keys else ""
        having = f" HAVING COUNT(*) > {self._draw(st.integers(1, 2))}" if self._one_in(4) else ""
        return Answer(f"SELECT {text} FROM {source.sql} {alias}{where}{group}{having}", tuple(type_ for _, type_ in items))

    def _grouping(self, keys: Sequence[str]) -> str:
        listed = ", ".join(keys)
        return self._draw(st.sampled_from([listed] * 6 + [f"ROLLUP ({listed})", f"CUBE ({listed})"]))

    def _call(self, scope: Sequence[Column], is_outermost: bool) -> tuple[str, Type]:
        """An aggregate and its type."""
        column = self._draw(st.sampled_from(scope))
        text, filtered = column.text, f" FILTER (WHERE {self._draw(condition(scope))})" if self._one_in(5) else ""
        distinct = "DISTINCT " if self._one_in(5) else ""
        choices = [("COUNT(*)", BIGINT), (f"COUNT({distinct}{text})", BIGINT), (f"MIN({text})", column.type), (f"MAX({text})", column.type)]
        choices += [(f"{name}({text}, {other.text})", column.type) for name in ("MIN_BY", "MAX_BY") for other in scope]
        if column.type in SUMMABLE or column.type.kind is Kind.DECIMAL:
            choices += [(f"SUM({distinct}{text})", _sum_type(column.type))] * 3
            choices += [(f"MEDIAN({text})", DOUBLE)] if column.type in (INT, DOUBLE) else []
            rounding = ["AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV"] if is_outermost and column.type is not BIGINT else []
            choices += [(f"{name}({text})", _average_type(column.type) if name == "AVG" else DOUBLE) for name in rounding]
        if column.type.is_integer:
            choices += [(f"{name}({text})", column.type) for name in ("BIT_AND", "BIT_OR", "BIT_XOR")]
        if column.type == BOOLEAN:
            choices += [(f"BOOL_AND({text})", BOOLEAN), (f"BOOL_OR({text})", BOOLEAN)]
        if column.type == STRING:
            choices += [(f"STRING_AGG({distinct}{text}, '-')", STRING)]
        call, type_ = self._draw(st.sampled_from(choices))
        return call + filtered, type_

    def _named(self, depth: int) -> tuple[Relation, str]:
        return self._relation(depth), self._alias()

    def _relation(self, depth: int) -> Relation:
        way = self._draw(st.integers(0, 9))
        if way < self.tables and self._streams[-1].is_table:
            return Relation("t", self._streams[-1].columns)
        if way == 9 and self.known:
            return self._draw(st.sampled_from(self.known))
        if way <= 5 or depth == 0:
            return self._windowed(depth)
        answer = self.query(depth - 1, None)
        return Relation(self._view(answer) if way <= 7 else f"({answer.sql})", answer.columns)

    def _windowed(self, depth: int) -> Relation:
        stream = self._stream(depth)
        return Relation(f"{stream.sql}{self._window(stream)}", stream.columns)

    def _stream(self, depth: int) -> Relation:
        """A stream without its window: a declared one, or that of what enters or leaves a view."""
        if depth and self._one_in(4):
            answer = self.query(depth - 1, None)
            kind = self._draw(st.sampled_from(["ISTREAM", "DSTREAM", "RSTREAM"]))
            return Relation(f"{kind}({self._view(answer)})", answer.columns)
        found = self._draw(st.sampled_from([stream for stream in self._streams if not stream.is_table]))
        return Relation(found.name, found.columns)

    def _window(self, stream: Relation) -> str:
        size, slide = self._draw(st.integers(1, 3)), self._draw(st.integers(1, 3))
        column = self._draw(st.sampled_from(stream.columns))[0]
        windows = [
            f" [RANGE {2 * size} SECONDS]", f" [RANGE {2 * size} SECONDS]", f" [RANGE {size * slide} SECONDS SLIDE {slide} SECONDS]",
            f" [ROWS {size}]", f" [ROWS {size * slide} SLIDE {slide}]", f" [PARTITION BY {column} ROWS {size}]", " [NOW]",
            " [UNBOUNDED]", "",
        ]  # fmt: skip
        return self._draw(st.sampled_from(windows))

    def _view(self, answer: Answer) -> str:
        name = f"v{len(self.views)}"
        kind = self._draw(st.sampled_from(["VIEW", "MATERIALIZED VIEW"]))
        self.views.append(f"CREATE {kind} {name} AS {answer.sql};")
        return name

    def _scope(self, relation: Relation, alias: str) -> list[Column]:
        return [Column(f"{alias}.{name}", type_) for name, type_ in relation.columns]

    def _alias(self) -> str:
        self._aliases += 1
        return f"r{self._aliases}"

    def _one_in(self, count: int) -> bool:
        return self._draw(st.integers(1, count)) == count


def _sum_type(type_: Type) -> Type:
    if type_.kind is Kind.DECIMAL:
        return decimal(min(38, type_.precision + 10), type_.scale)
    return BIGINT if type_.is_integer else DOUBLE


def _average_type(type_: Type) -> Type:
    if type_.kind is Kind.DECIMAL:
        return decimal(min(38, type_.precision + 4), min(38, type_.scale + 4))
    return DOUBLE
