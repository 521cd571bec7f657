"""Random expressions of a wanted type over the columns at hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.signatures import TYPES, of_each
from fuzz.values import UNITS, interval, literal, quoted
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type

COMPARED = ("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
NUMBERS = (INT, BIGINT, DOUBLE)


@dataclass(frozen=True)
class Named:
    """A column as it may be written."""

    text: str
    type: Type


class Expressions:
    """Makes expressions; `query` gives subqueries of one column, where they may stand."""

    def __init__(self, chance: random.Random, scope: Sequence[Named], query: Callable[[Type], str] | None = None, plain: bool = False) -> None:
        self.chance = chance
        self.scope = scope
        self.query = query
        self.plain = plain  # only what DuckDB computes to the last bit

    def of(self, type_: Type, depth: int = 2) -> str:
        roll = self.chance.random()
        same = [column.text for column in self.scope if column.type == type_]
        if same and (depth <= 0 or roll < 0.35):
            return self.chance.choice(same)
        if depth <= 0 or roll < 0.45:
            return literal(self.chance, type_) if not self.plain else self._plain_literal(type_)
        ways = [self._case, self._coalesce]
        if not self.plain:
            ways += [self._call, self._call, self._call, self._cast, self._call]
        if type_ == BOOLEAN:
            ways += [self._condition] * 6
        if type_ in NUMBERS:
            ways += [self._arithmetic] * 3
        if type_ == STRING:
            ways += [self._joined]
        if type_ in (TIMESTAMP, DATE) and not self.plain:
            ways += [self._moved] * 2
        if self.query is not None and self.chance.random() < 0.15:
            ways = [self._scalar]
        made = self.chance.choice(ways)(type_, depth - 1)
        # Without them, what is compared with a comparison is compared with its left side: a text, where DuckDB differs from Spark.
        return f"({made})" if self.plain and type_ == BOOLEAN else made

    def any_type(self) -> Type:
        return self.chance.choice((INT, BIGINT, STRING, BOOLEAN)) if self.plain else self.chance.choice(TYPES)

    def _plain_literal(self, type_: Type) -> str:
        if type_ == STRING:
            return quoted(self.chance.choice(("a", "b", "ann", "")))
        if type_ == BOOLEAN:
            return self.chance.choice(("TRUE", "FALSE"))
        return str(self.chance.randrange(-3, 9)) if type_ == INT else f"CAST({self.chance.randrange(-3, 9)} AS {type_})"

    def _case(self, type_: Type, depth: int) -> str:
        branches = " ".join(f"WHEN {self.of(BOOLEAN, depth)} THEN {self.of(type_, depth)}" for _ in range(self.chance.choice((1, 1, 2))))
        return f"CASE {branches} ELSE {self.of(type_, depth)} END"

    def _coalesce(self, type_: Type, depth: int) -> str:
        return f"COALESCE({self.of(type_, depth)}, {self.of(type_, depth)})"

    def _call(self, type_: Type, depth: int) -> str:
        names = of_each().get(type_)
        if not names:
            return self.of(type_, 0)
        name, types = self.chance.choice(names[self.chance.choice(list(names))])
        return f"{name}({', '.join(self._argument(one, depth) for one in types)})"

    def _argument(self, type_: Type, depth: int) -> str:
        if type_ == STRING and self.chance.random() < 0.15:
            return quoted(self.chance.choice((*UNITS, "yyyy-MM-dd", "HH:mm", "[a-z]+", "(", "%a_")))
        if type_ == INT and self.chance.random() < 0.3:
            return str(self.chance.randrange(-2, 6))
        return self.of(type_, depth)

    def _cast(self, type_: Type, depth: int) -> str:
        word = self.chance.choice(("CAST", "CAST", "TRY_CAST"))
        other = self.chance.choice((INT, DOUBLE, STRING, TIMESTAMP, type_))
        return f"{word}({self.of(other, depth)} AS {type_})"

    def _arithmetic(self, type_: Type, depth: int) -> str:
        operator = self.chance.choice("+-*" if self.plain else "+-*/%" if type_ == DOUBLE else "+-*/%&|^")
        return f"({self.of(type_, depth)} {operator} {self.of(type_, depth)})"

    def _joined(self, type_: Type, depth: int) -> str:
        return f"({self.of(STRING, depth)} || {self.of(STRING, depth)})"

    def _moved(self, type_: Type, depth: int) -> str:
        return f"({self.of(type_, depth)} {self.chance.choice('+-')} {interval(self.chance)})"

    def _scalar(self, type_: Type, depth: int) -> str:
        assert self.query is not None
        if type_ != BOOLEAN:
            return f"(SELECT MAX(c0) AS m FROM ({self.query(type_)}) q)" if type_.kind is not Kind.ARRAY else self.of(type_, 0)
        one = self.any_type()
        asked = self.query(one)
        return self.chance.choice((
            f"EXISTS ({asked})", f"{self.of(one, depth)} IN ({asked})", f"{self.of(one, depth)} NOT IN ({asked})",
            f"{self.of(one, depth)} {self.chance.choice(('=', '<', '>'))} {self.chance.choice(('ANY', 'ALL'))} ({asked})",
        ))  # fmt: skip

    def _condition(self, type_: Type, depth: int) -> str:
        one = self.any_type()
        left, right = self.of(one, depth), self.of(one, depth)
        roll = self.chance.randrange(9)
        if roll < 4:
            return f"{left} {self.chance.choice(COMPARED)} {right}"
        if roll == 4:
            return f"({self.of(BOOLEAN, depth)} {self.chance.choice(('AND', 'OR'))} {self.of(BOOLEAN, depth)})"
        if roll == 5:
            return f"NOT ({self.of(BOOLEAN, depth)})"
        if roll == 6:
            return f"({left}) IS {self.chance.choice(('', 'NOT '))}NULL"
        if roll == 7:
            return f"{left} {self.chance.choice(('', 'NOT '))}IN ({right}, {self.of(one, depth)})"
        if one == STRING and not self.plain:
            return f"{left} {self.chance.choice(('LIKE', 'ILIKE', 'RLIKE'))} {quoted(self.chance.choice(('%', 'a%', '_b', 'x')))}"
        return f"{left} BETWEEN {right} AND {self.of(one, depth)}"
