"""Scalar expressions: from the tree to typed calls over numbered columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from sash.scalar import build
from sash.scalar.coercion import misplaced_length
from sash.scalar.nodes import Call, Column, Expression, Literal, calls_within
from sash.scalar.user_functions import UserFunction
from sash.schema import BIGINT, BOOLEAN, DATE, LENGTH, STRING, Kind
from sash.sql.bind import calls, literals, row_values
from sash.sql.bind import special_syntax as forms
from sash.sql.bind.aggregate_functions import over_no_rows
from sash.sql.bind.array_queries import of_query
from sash.sql.bind.conditions import GROUPING, constant
from sash.sql.bind.function_aliases import in_other_words
from sash.sql.bind.lambdas import of_elements
from sash.sql.bind.now import NOW
from sash.sql.bind.pair_statistics import bind_statistic
from sash.sql.bind.references import WindowResult
from sash.sql.bind.scope import AggregateCollector, Scope
from sash.sql.bind.support import not_yet
from sash.sql.syntax.nesting import CHAINS, MOST_CALLS, operands
from sash.sql.syntax.text_positions import at, fault, name_of
from sash.sql.syntax.type_names import CAST_FUNCTIONS, type_of
from sash.sql.user_code import user_code

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "div",
    exp.Mod: "mod",
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "null_safe_equal",
    exp.And: "and",
    exp.Or: "or",
    exp.Neg: "negate",
    exp.RegexpLike: "rlike",
    exp.DPipe: "concat",
    exp.Concat: "concat",
    exp.Coalesce: "coalesce",
    exp.Array: "array",
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
    exp.BitwiseNot: "bit_not",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
}
_FORMS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression]] = {
    exp.Add: forms.plus,
    exp.Sub: forms.minus,
    exp.Not: forms.not_,
    exp.Is: forms.is_,
    exp.NullSafeNEQ: forms.differs,
    exp.In: forms.in_,
    exp.Exists: lambda binder, node: binder.subquery(node),
    exp.Between: forms.between,
    exp.Like: forms.like,
    exp.ILike: forms.like,
    exp.Escape: forms.like,
    exp.Case: forms.case,
    exp.If: forms.if_,
    exp.Cast: forms.cast,
    exp.TryCast: forms.cast,
    exp.Extract: forms.extract,
    exp.Trim: forms.trim,
    exp.Substring: forms.substring,
    exp.StrPosition: forms.position,
    exp.Bracket: forms.subscript,
    exp.Paren: lambda binder, node: binder.part(node.this),
    exp.Column: lambda binder, node: binder.column(node),
    exp.Anonymous: lambda binder, node: binder.function(node),
    exp.Filter: lambda binder, node: binder.aggregate(node),
    exp.WithinGroup: lambda binder, node: binder.aggregate(node),
    exp.Window: lambda binder, node: binder.number(node),
    exp.Subquery: lambda binder, node: binder.subquery(node),
}


_GROUPINGS = (GROUPING, "grouping_id")
TIMES = ("now", "current_timestamp", "localtimestamp", "current_date", "curdate", "mz_now")
COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)  # what ANY and ALL may follow


class ExpressionBinder:
    """Binds the expressions of one clause.

    `aliases` are names that the clause may use besides those of the inputs; a name that is both a column of an input
    and an alias means the column, unless `prefers` says no. `aggregates` collects the aggregate calls, where the clause
    may have them; `numbered` is told of every window function, where one may stand.
    """

    def __init__(
        self,
        scope: Scope,
        clause: str,
        aggregates: AggregateCollector | None = None,
        aliases: Mapping[str, Expression] | None = None,
        prefers: Callable[[Column], bool] = lambda column: True,
        numbered: Callable[[exp.Window], WindowResult] | None = None,
    ) -> None:
        self.scope = scope
        self.clause = clause
        self.aggregates = aggregates
        self.aliases = {} if aliases is None else aliases
        self.prefers = prefers
        self.numbered = numbered
        self.seen: dict[Column, exp.Expr] = {}  # where each column was named, outside of aggregates

    def bind(self, node: exp.Expr) -> Expression:
        """A value."""
        bound = self.part(node)
        if bound.type == LENGTH:
            with at(node):
                raise misplaced_length()
        return bound

    def part(self, node: exp.Expr) -> Expression:
        """A part of an expression: a value, or a length of time, which is none by itself."""
        bound = self._bound(node)
        if calls_within(bound) > MOST_CALLS:
            message = f"more than {MOST_CALLS} operators and functions lie within each other here"
            raise fault(node, message, "compute parts of it in a subquery")
        return bound

    def _bound(self, node: exp.Expr) -> Expression:
        if (constant := literals.literal(node)) is not None:
            return constant
        if (length := literals.interval(node)) is not None:
            return forms.length(node, length)
        if isinstance(node.args.get("expression"), exp.Any | exp.All):
            return self._quantified(node)
        if (found := forms.among(self, node) or row_values.compared(self, node)) is not None:
            return found
        if (operator := _OPERATORS.get(type(node))) is not None:
            parts = operands(node, type(node)) if isinstance(node, CHAINS) else node.iter_expressions()
            return self.call(node, operator, [self.part(part) for part in parts])
        if (form := _FORMS.get(type(node))) is not None:
            return form(self, node)
        if isinstance(node, exp.Star):
            raise fault(node, "* is not a value", "name a column")
        raise not_yet(node)

    def condition(self, node: exp.Expr) -> Expression:
        """An expression that must be true or false; decided at once if it reads nothing."""
        bound = self.bind(node)
        if bound == Literal(None, STRING):
            return Literal(None, BOOLEAN)
        if self.clause == "HAVING":  # as in Spark, HAVING SUM(x) means HAVING CAST(SUM(x) AS BOOLEAN)
            with at(node):
                bound = build.cast(bound, BOOLEAN)
        if bound.type.kind is not Kind.BOOLEAN:
            raise fault(node, f"{self.clause} needs a BOOLEAN, but this is {bound.type}")
        return constant(bound) or bound

    def call(self, node: exp.Expr, function: str, arguments: Sequence[Expression]) -> Expression:
        with at(node):
            return build.call(function, arguments)

    def column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star):
            raise fault(node, "* is not a value", "name a column")
        alias = None if node.table else self.aliases.get(node.name.lower())
        if alias is not None and not self._is_preferred(node.name):
            return alias
        if not node.table and node.name.lower() in TIMES and not self.scope.knows(node):
            return self._time(node.name.lower())
        if node.name.lower() == "grouping__id" and self.aggregates is not None and not self.scope.knows(node):
            return Call(GROUPING, (), BIGINT)
        if (outside := self.scope.resolve_outside(node)) is not None:
            return outside
        column = self.scope.resolve(node)
        self.seen.setdefault(column, node)
        return column if node.table else self.scope.shown(column)

    def function(self, node: exp.Anonymous) -> Expression:
        name = node.name.lower()
        if name in TIMES and not node.expressions:
            return self._time(name)
        if name in _GROUPINGS:
            return self._grouping(node)
        if (found := of_elements(self, node) or of_query(self, node) or in_other_words(self, node)) is not None:
            return found
        code = user_code(node)
        if isinstance(code, UserFunction):
            return self._user_function(node, code)
        if code is not None or calls.is_aggregate(name):
            return self.aggregate(node)
        if name.upper() in CAST_FUNCTIONS and len(node.expressions) == 1:
            return forms.converted(self, node, node.expressions[0], type_of(name_of(node), []))
        return self.call(node, name, [self.part(argument) for argument in node.expressions])

    def _time(self, name: str) -> Expression:
        """The time of the query, which moves; `now_rewrite.py` says what becomes of it."""
        if name == "mz_now":  # as in Materialize: a number of milliseconds
            return build.call("unix_millis", [NOW])
        return build.cast(NOW, DATE) if name in ("current_date", "curdate") else NOW

    def _grouping(self, node: exp.Anonymous) -> Expression:
        """Which keys a set of GROUP BY leaves out; `groups.py` gives it a column."""
        if self.aggregates is None:
            raise fault(node, f"{node.name.upper()} is not allowed in {self.clause}", "it tells about groups: use HAVING")
        if node.name.lower() == GROUPING and not node.expressions:
            raise fault(node, "GROUPING needs an expression that GROUP BY names")
        return Call(GROUPING, tuple(self.bind(part) for part in node.expressions), BIGINT)

    def _user_function(self, node: exp.Anonymous, function: UserFunction) -> Expression:
        given, wanted = node.expressions, function.parameters
        if len(given) != len(wanted):
            raise fault(node, f"{function.name} takes {len(wanted)} arguments, not {len(given)}")
        with at(node):
            arguments = tuple(build.cast(self.bind(part), type_) for part, type_ in zip(given, wanted, strict=True))
        return Call(function.name, arguments, function.type, function)

    def aggregate(self, node: exp.Expr) -> Expression:
        inner = ExpressionBinder(self.scope, calls.INSIDE)
        if (outside := calls.of_outer_query(node, inner)) is not None:
            return over_no_rows(node, outside)
        if self.aggregates is None:
            raise calls.misplaced(node, self.clause)
        if (made := bind_statistic(node, inner, self.aggregates)) is not None:
            return made
        return over_no_rows(node, self.aggregates.add(node, inner))

    def number(self, node: exp.Window) -> Expression:
        if self.numbered is None:
            hint = "compute it in the select list of a subquery"
            raise fault(node, f"a window function (OVER) is not allowed in {self.clause}", hint)
        return self.numbered(node)

    def _quantified(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Like | exp.ILike) and not isinstance(node.expression.this, exp.Query):
            return forms.like_several(self, node)
        if not isinstance(node, COMPARED) or not isinstance(node.expression.this, exp.Query):
            raise not_yet(node.expression)
        return self.subquery(node)

    def subquery(self, node: exp.Expr) -> Expression:
        """A subquery that stands for a value, EXISTS, IN, ANY or ALL."""
        if self.scope.questions is None:
            raise not_yet(node, f"a subquery in {self.clause}")
        return self.scope.questions.add(node, self)

    def _is_preferred(self, name: str) -> bool:
        found = self.scope.find(name)
        return bool(found) and all(self.prefers(column) for column in found)
