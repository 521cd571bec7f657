"""What names mean in a query: the columns of its inputs.

The columns of all inputs are numbered through, in the order of the text. Expressions are bound to these numbers; how
the inputs are joined is decided later and moves the columns to where the join puts them. In a subquery a name that no
input has may mean a column of the queries around it (`outer_columns.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from sqlglot import exp

from sash.errors import SqlError, choices
from sash.plan.nodes import Plan
from sash.scalar import build
from sash.scalar.nodes import Column, Expression
from sash.sql.bind.aggregate_syntax import BoundCall
from sash.sql.bind.outer_columns import outside, substituted
from sash.sql.bind.references import AggregateResult
from sash.sql.syntax.text_positions import Name, fault, name_of


class Binder(Protocol):
    """What those who bind a part of an expression ask of the binder around it (`expressions.py`)."""

    seen: dict[Column, exp.Expr]  # where each column was named, outside of aggregates

    @property
    def scope(self) -> Scope: ...

    @property
    def aggregates(self) -> AggregateCollector | None: ...

    def bind(self, node: exp.Expr) -> Expression:
        """A value."""

    def part(self, node: exp.Expr) -> Expression:
        """A value, or a length of time."""

    def condition(self, node: exp.Expr) -> Expression: ...

    def call(self, node: exp.Expr, function: str, arguments: Sequence[Expression]) -> Expression: ...

    def subquery(self, node: exp.Expr) -> Expression: ...


class AggregateCollector(Protocol):
    """The aggregates of a query, each of which becomes a reference."""

    def add(self, node: exp.Expr, binder: Binder) -> AggregateResult: ...

    def add_bound(self, call: BoundCall, node: exp.Expr) -> AggregateResult: ...


class SubqueryCollector(Protocol):
    """The subqueries in the expressions of a query, each of which becomes a reference."""

    def add(self, node: exp.Expr, binder: Binder) -> Expression: ...


@dataclass(frozen=True)
class Input:
    """An item of FROM: its plan, the name it goes by, and what it is.

    `timestamp` is the column that holds the timestamps of a stream. What is hidden has no names: the one row of a
    subquery in an expression. `*` leaves the `unstarred` last columns out.
    """

    plan: Plan
    name: str
    kind: str
    timestamp: int | None = None
    is_hidden: bool = False
    unstarred: int = 0

    @property
    def label(self) -> str:
        return f'{self.kind} "{self.name}"' if self.name else self.kind

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Where the columns of each name are; names are compared without case."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.plan.schema.names):
            found.setdefault(name.lower(), []).append(place)
        return found


@dataclass(frozen=True)
class Scope:
    """The inputs of a query, or of a part of its FROM: names mean the inputs from `first` on.

    `starred` is what `*` means, in Spark's order: the columns that USING has merged come before all others that it joins.
    `merged` leads from a column that USING has hidden to the one that stands for it. `twins` are the columns that stand
    in for a column of USING where it is NULL because FULL JOIN found no row. `questions` collects the subqueries of its
    expressions. `outer` is the query around a subquery, `aggregates` are its aggregates where the subquery may have some.
    """

    inputs: tuple[Input, ...]
    first: int = 0
    starred: tuple[Column, ...] = ()
    merged: Mapping[int, int] = field(default_factory=dict)
    twins: Mapping[int, tuple[Column, ...]] = field(default_factory=dict)
    questions: SubqueryCollector | None = None
    outer: Scope | None = None
    aggregates: AggregateCollector | None = None

    def widened(self, item: Input) -> Scope:
        wider = replace(self, inputs=(*self.inputs, item))
        return wider if item.is_hidden else replace(wider, starred=(*self.starred, *wider._starred(len(self.inputs))))

    def fenced(self) -> Scope:
        """The scope of a part that cannot name what is here already."""
        return replace(self, first=len(self.inputs), starred=())

    def opened(self, part: Scope) -> Scope:
        """This scope with a part that was fenced."""
        return replace(part, first=self.first, starred=(*self.starred, *part.starred))

    def led_by(self, kept: Sequence[Column]) -> Scope:
        """After USING: the columns it has kept come first, those it has hidden are gone."""
        rest = [column for column in self.starred if column not in kept and column.index not in self.merged]
        return replace(self, starred=(*kept, *rest))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The number of the first column of each input."""
        widths = [len(item.plan.schema) for item in self.inputs]
        return (0, *accumulate(widths))[: len(widths)]

    @property
    def width(self) -> int:
        return sum(len(item.plan.schema) for item in self.inputs)

    def columns(self, place: int) -> Iterator[Column]:
        """The columns of one input, hidden ones too."""
        for index, part in enumerate(self.inputs[place].plan.schema.fields, self.offsets[place]):
            yield Column(index, part.type, part.name)

    def _named(self, place: int, name: str) -> list[Column]:
        """The columns of one input that have a name."""
        item, first = self.inputs[place], self.offsets[place]
        fields = item.plan.schema.fields
        return [Column(first + index, fields[index].type, fields[index].name) for index in item.places.get(name.lower(), ())]

    def shown(self, column: Column) -> Expression:
        """What a column means when no input is named with it."""
        twins = self.twins.get(column.index)
        return build.call("coalesce", (column, *twins)) if twins else column

    def timestamps(self) -> list[Column]:
        """The columns that hold the timestamps of streams."""
        stamps = [(place, item.timestamp) for place, item in enumerate(self.inputs)]
        return [list(self.columns(place))[stamp] for place, stamp in stamps if stamp is not None]

    def qualified(self, qualifier: Name) -> list[Column]:
        """What `t.*` means."""
        return self._starred(self._input(qualifier))

    def _starred(self, place: int) -> list[Column]:
        found = list(self.columns(place))
        return found[: len(found) - self.inputs[place].unstarred]

    def find(self, name: str) -> list[Column]:
        """The columns that a name without qualifier may mean."""
        found = [column for place in self._open() for column in self._named(place, name)]
        return [column for column in found if column.index not in self.merged]

    def resolve(self, node: exp.Column) -> Column:
        """The column that a name means, or an error that says why there is none."""
        if node.args.get("db"):
            raise fault(node, "names have at most two parts", "write input.column")
        if node.table:
            return self._resolve_in(self._input(name_of(node.args["table"])), node)
        found = self.find(node.name)
        if len(found) == 1:
            return found[0]
        raise self._ambiguous(node, found) if found else self.unknown(node)

    def resolve_outside(self, node: exp.Column) -> Expression | None:
        """What a name means in the nearest query around this one that knows it, where it means nothing here."""
        around = self
        while not around.knows(node):
            if around.outer is None:
                return None
            around = around.outer
        if around is self:
            return None
        column = around.resolve(node)
        meant = column if node.table else around.shown(column)
        return substituted(meant, lambda part: outside(part, around.level) if isinstance(part, Column) else part)

    def around(self, qualifier: str) -> Scope:
        """The nearest query that has an input of a name; this one if none has."""
        found: Scope | None = self
        while found is not None:
            if any(found.inputs[place].name.lower() == qualifier.lower() for place in found._open()):
                return found
            found = found.outer
        return self

    @property
    def level(self) -> int:
        """How many queries are around this one."""
        return 0 if self.outer is None else self.outer.level + 1

    def knows(self, node: exp.Column) -> bool:
        if node.table:
            return any(self.inputs[place].name.lower() == node.table.lower() for place in self._open())
        return bool(self.find(node.name))

    def _open(self) -> list[int]:
        """The inputs that names may mean."""
        return [place for place, item in enumerate(self.inputs) if place >= self.first and not item.is_hidden]

    def unknown(self, node: exp.Column) -> SqlError:
        """The fault of a name that no input has."""
        inputs = [self.inputs[place] for place in self._open()]
        if len(inputs) == 1:
            return self._unknown_in(inputs[0], node)
        columns = [f"{item.name}.{name}" for item in inputs for name in item.plan.schema.names]
        return fault(node, f'unknown column "{node.name}"', f"columns are: {choices(columns)}")

    def _resolve_in(self, place: int, node: exp.Column) -> Column:
        found = self._named(place, node.name)
        if len(found) == 1:
            return found[0]
        item = self.inputs[place]
        if found:
            raise fault(node, f'{item.label} has several columns called "{node.name}"', "give them names with AS")
        raise self._unknown_in(item, node)

    def _input(self, qualifier: Name) -> int:
        for place, item in enumerate(self.inputs[self.first :], self.first):
            if item.name.lower() == qualifier.text.lower():
                return place
        names = choices(item.name for item in self.inputs[self.first :] if item.name)
        raise fault(qualifier, f'unknown input "{qualifier}"', f"the inputs of this query are: {names}")

    def owner(self, column: Column) -> int:
        """The input that a column belongs to."""
        return max(place for place, offset in enumerate(self.offsets) if offset <= column.index)

    def _ambiguous(self, node: exp.Column, found: list[Column]) -> SqlError:
        owners = [self.inputs[self.owner(column)] for column in found]
        names = choices(dict.fromkeys(item.label for item in owners))
        hint = f"write {owners[0].name}.{node.name}" if owners[0].name else "give them names with AS"
        return fault(node, f'column "{node.name}" is ambiguous: it is in {names}', hint)

    def _unknown_in(self, item: Input, node: exp.Column) -> SqlError:
        columns = choices(item.plan.schema.names)
        return fault(node, f'unknown column "{node.name}" in {item.label}', f"columns are: {columns}")
