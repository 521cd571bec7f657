"""Random queries from the grammar of the dialect: windows, joins, subqueries, set operators, groups, OVER, sequences, streams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.expressions import Expressions, Named
from fuzz.values import duration
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type, array, decimal

COLUMNS = {
    "a": (("ts", TIMESTAMP), ("k", INT), ("v", BIGINT), ("d", DOUBLE), ("s", STRING)),
    "b": (("ts", TIMESTAMP), ("k", INT), ("p", decimal(10, 2)), ("w", decimal(30, 5)), ("on", DATE), ("ok", BOOLEAN)),
    "c": (("k", INT), ("l", array(INT)), ("m", array(STRING)), ("s", STRING)),
    "t": (("k", INT), ("s", STRING), ("since", TIMESTAMP)),
    "n": (("k", INT), ("name", STRING)),
    "w": (("k", INT), ("total", BIGINT)),
}
STREAMS, TABLES, VIEWS = ("a", "b", "c"), ("t", "n"), ("w",)
RESERVED = ("on",)
NUMBERS = (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL)


def written(name: str) -> str:
    return f"`{name}`" if name in RESERVED else name


@dataclass(frozen=True)
class Item:
    """An item of FROM under its alias."""

    sql: str
    alias: str
    columns: tuple[tuple[str, Type], ...]

    @property
    def named(self) -> list[Named]:
        return [Named(f"{self.alias}.{written(name)}", type_) for name, type_ in self.columns]


class Queries:
    """Makes queries whose columns are called c0, c1, …"""

    def __init__(self, chance: random.Random, plain: bool = False) -> None:
        self.chance = chance
        self.plain = plain
        self._aliases = 0

    def outermost(self) -> str:
        types = [self._type() for _ in range(self.chance.choice((1, 2, 3)))]
        query = self.query(types, 2)
        return query + (f" EMIT EVERY {duration(self.chance)}" if self.chance.random() < 0.05 and not self.plain else "")

    def query(self, types: Sequence[Type], depth: int) -> str:
        roll = self.chance.random()
        if roll < 0.12 and depth:
            operator = self.chance.choice(("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"))
            return f"{self.query(types, depth - 1)} {operator} {self.query(types, depth - 1)}"
        if roll < 0.4:
            return self._grouped(types, depth)
        if roll < 0.5 and not self.plain:
            return self._numbered(types, depth)
        return self._plain(types, depth)

    def _type(self) -> Type:
        if self.plain:
            return self.chance.choice((INT, BIGINT, STRING))
        return self.chance.choice((INT, INT, BIGINT, DOUBLE, STRING, BOOLEAN, TIMESTAMP, DATE, decimal(10, 2), decimal(30, 5), array(INT)))

    def _plain(self, types: Sequence[Type], depth: int) -> str:
        source, scope = self._from(depth)
        make = self._expressions(scope, depth)
        items = ", ".join(f"{make.of(type_)} AS c{place}" for place, type_ in enumerate(types))
        distinct = "DISTINCT " if self.chance.random() < 0.15 else ""
        where = f" WHERE {make.of(BOOLEAN)}" if self.chance.random() < 0.5 else ""
        limit = ""
        if self.chance.random() < 0.12:
            places = ", ".join(f"c{place}{self.chance.choice(('', ' DESC', ' NULLS FIRST'))}" for place in range(len(types)))
            limit = f" ORDER BY {places} LIMIT {self.chance.choice((0, 1, 3, 100))}{self.chance.choice(('', '', ' OFFSET 1'))}"
        return f"SELECT {distinct}{items} FROM {source}{where}{limit}"

    def _grouped(self, types: Sequence[Type], depth: int) -> str:
        source, scope = self._from(depth)
        make = self._expressions(scope, 0)
        keys = [make.of(self._type(), 1) for _ in range(self.chance.choice((0, 1, 1, 2)))]
        items = [self._aggregate(type_, make) for type_ in types]
        listed = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        where = f" WHERE {make.of(BOOLEAN, 1)}" if self.chance.random() < 0.3 else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        if keys and self.chance.random() < 0.1 and not self.plain:
            group = f" GROUP BY {self.chance.choice(('ROLLUP', 'CUBE'))}({', '.join(keys)})"
        having = f" HAVING COUNT(*) > {self.chance.choice((0, 1, 2))}" if self.chance.random() < 0.2 else ""
        return f"SELECT {listed} FROM {source}{where}{group}{having}"

    def _aggregate(self, type_: Type, make: Expressions) -> str:
        if type_ == BIGINT:
            inner = make.of(make.any_type(), 1)
            more = "" if self.plain else self.chance.choice(("", "", f" FILTER (WHERE {make.of(BOOLEAN, 1)})"))
            return self.chance.choice(("COUNT(*)", f"COUNT({inner})", f"COUNT(DISTINCT {inner})", f"SUM({make.of(INT, 1)})")) + more
        if self.plain or type_.kind is Kind.ARRAY:
            return f"MAX({make.of(type_, 1)})" if type_.kind is not Kind.ARRAY else f"ARRAY_AGG({make.of(INT, 1)})"
        ways = [f"MIN({make.of(type_, 1)})", f"MAX({make.of(type_, 1)})", f"ANY_VALUE({make.of(type_, 1)})", f"MODE({make.of(type_, 1)})", f"MAX_BY({make.of(type_, 1)}, {make.of(INT, 1)})"]
        if type_ == DOUBLE:
            number = make.of(self.chance.choice((INT, DOUBLE, BIGINT)), 1)
            ways += [f"AVG({number})", f"STDDEV({number})", f"VAR_POP({number})", f"MEDIAN({number})", f"CORR({number}, {make.of(DOUBLE, 1)})",
                     f"PERCENTILE_CONT(0.{self.chance.randrange(10)}) WITHIN GROUP (ORDER BY {number})", f"rms({make.of(DOUBLE, 1)})"]  # fmt: skip
        if type_ == STRING:
            ways += [f"STRING_AGG({make.of(STRING, 1)}, ',')", f"LISTAGG({make.of(STRING, 1)}, '-') WITHIN GROUP (ORDER BY {make.of(INT, 1)})"]
        if type_ == BOOLEAN:
            ways += [f"BOOL_AND({make.of(BOOLEAN, 1)})", f"BOOL_OR({make.of(BOOLEAN, 1)})"]
        if type_ == INT:
            ways += [f"BIT_AND({make.of(INT, 1)})", f"BIT_XOR({make.of(INT, 1)})"]
        return self.chance.choice(ways)

    def _numbered(self, types: Sequence[Type], depth: int) -> str:
        source, scope = self._from(depth)
        make = self._expressions(scope, 0)
        items = ", ".join(f"{self._over(type_, make)} AS c{place}" for place, type_ in enumerate(types))
        return f"SELECT {items} FROM {source}"

    def _over(self, type_: Type, make: Expressions) -> str:
        order = f"ORDER BY {make.of(self.chance.choice((INT, DOUBLE, STRING, TIMESTAMP)), 1)}{self.chance.choice(('', ' DESC'))}"
        partition = f"PARTITION BY {make.of(INT, 1)} " if self.chance.random() < 0.5 else ""
        bound = self.chance.choice(("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW"))
        stop = self.chance.choice(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
        frame = f" {self.chance.choice(('ROWS', 'ROWS', 'GROUPS'))} BETWEEN {bound} AND {stop}" if self.chance.random() < 0.4 else ""
        if type_ == INT:
            numbers = self.chance.choice(("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(3)"))
            return f"CAST({numbers} OVER ({partition}{order}) AS INT)"
        if type_.kind is not Kind.ARRAY and self.chance.random() < 0.5:
            near = self.chance.choice((f"LAG({make.of(type_, 1)})", f"LEAD({make.of(type_, 1)}, 2)"))
            return f"{near} OVER ({partition}{order})"
        if type_.kind is Kind.ARRAY:
            return make.of(type_)
        function = self.chance.choice(("FIRST_VALUE", "LAST_VALUE", "MIN", "MAX"))
        return f"{function}({make.of(type_, 1)}) OVER ({partition}{order}{frame})"

    def _expressions(self, scope: Sequence[Named], depth: int) -> Expressions:
        asked = (lambda type_: self.query([type_], 0)) if depth and self.chance.random() < 0.3 else None
        return Expressions(self.chance, scope, asked, self.plain)

    def _from(self, depth: int) -> tuple[str, list[Named]]:
        first = self._item(depth)
        text, scope = first.sql, first.named
        for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2)) if depth else 0):
            other = self._item(depth - 1)
            word = self.chance.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"))
            make = Expressions(self.chance, [*scope, *other.named], None, self.plain)
            on = "" if word == "CROSS JOIN" else f" ON {self._meeting(scope, other, make)}"
            text += f" {word} {other.sql}{on}"
            scope = scope if word.endswith(("SEMI JOIN", "ANTI JOIN")) else [*scope, *other.named]
        return text, scope

    def _meeting(self, scope: Sequence[Named], other: Item, make: Expressions) -> str:
        pairs = [(mine, theirs) for mine in scope for theirs in other.named if mine.type == theirs.type]
        if not pairs:
            return make.of(BOOLEAN, 1)
        mine, theirs = self.chance.choice(pairs)
        more = f" AND {make.of(BOOLEAN, 1)}" if self.chance.random() < 0.2 else ""
        return f"{mine.text} = {theirs.text}{more}"

    def _item(self, depth: int) -> Item:
        self._aliases += 1
        alias, roll = f"r{self._aliases}", self.chance.random()
        if depth > 0 and roll < 0.15:
            types = [self._type() for _ in range(2)]
            return Item(f"({self.query(types, depth - 1)}) {alias}", alias, tuple((f"c{n}", type_) for n, type_ in enumerate(types)))
        if self.plain:
            return Item(f"a {self._window(COLUMNS['a'])} {alias}", alias, COLUMNS["a"])
        if roll < 0.25:
            name = self.chance.choice((*TABLES, *VIEWS))
            return Item(f"{name} {alias}", alias, COLUMNS[name])
        if roll < 0.32:
            return self._special(alias)
        name = self.chance.choice(STREAMS)
        window = self._window(COLUMNS[name]) if self.chance.random() < 0.85 else ""
        return Item(f"{name} {window} {alias}", alias, COLUMNS[name])

    def _special(self, alias: str) -> Item:
        """What SQL does not have."""
        roll = self.chance.randrange(6)
        if roll == 0:
            within = f" WITHIN {duration(self.chance)}" if self.chance.random() < 0.5 else ""
            pairing = self.chance.choice(("RECENT", "CHRONICLE"))
            inner = f"SELECT a.k AS k, b.ok AS ok, a.s AS s FROM a FOLLOWED BY b USING {pairing} ON a.k = b.k{within}"
            return Item(f"({inner}) {alias}", alias, (("k", INT), ("ok", BOOLEAN), ("s", STRING)))
        if roll == 1:
            inner = "SELECT a.k AS k, b.p AS p FROM a [ROWS 5] ASOF JOIN b [RANGE 5 SECONDS] ON a.k = b.k AND a.ts >= b.ts"
            return Item(f"({inner}) {alias}", alias, (("k", INT), ("p", decimal(10, 2))))
        if roll == 2:
            inner = f"SELECT * FROM a {self._window(COLUMNS['a'])} MINUS b [RANGE 3 SECONDS] AS b2 ON a.k = b2.k"
            return Item(f"({inner}) {alias}", alias, COLUMNS["a"])
        if roll == 3:
            word = self.chance.choice(("ISTREAM", "DSTREAM", "RSTREAM"))
            return Item(f"{word}({self.query([INT, STRING], 0)}) {self._window((('c0', INT),))} {alias}", alias, (("c0", INT), ("c1", STRING)))
        if roll == 4:
            return Item(f"(SELECT c.k AS k, u.e AS e FROM c [RANGE 5 SECONDS], UNNEST(c.l) AS u(e)) {alias}", alias, (("k", INT), ("e", INT)))
        return Item(f"(SELECT k, ts FROM a [RANGE 9 SECONDS] WHERE ts > NOW() - INTERVAL 2 SECONDS) {alias}", alias, (("k", INT), ("ts", TIMESTAMP)))

    def _window(self, columns: Sequence[tuple[str, Type]]) -> str:
        roll = self.chance.randrange(8)
        if roll < 4:
            return f"[RANGE {duration(self.chance)}]"
        if roll == 4:
            return f"[RANGE 4 SECONDS SLIDE {self.chance.choice((1, 2))} SECONDS]"
        if roll == 5:
            return f"[ROWS {self.chance.choice((1, 3, 10))}]"
        if roll == 6:
            return f"[PARTITION BY {written(self.chance.choice(columns)[0])} ROWS {self.chance.choice((1, 2))}]"
        return self.chance.choice(("[NOW]", "[UNBOUNDED]"))
