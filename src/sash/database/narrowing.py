"""What a planned question needs of the rows of views: not all of them, where conditions or figures say which.

    SELECT g, COUNT(*) FROM volume WHERE k = 7 GROUP BY g      rows with k = 7, found by an index, or tested where they lie
    SELECT … FROM volume JOIN names USING (k) WHERE k = 7      the same: conditions go down to what they are about
    SELECT … FROM volume JOIN names USING (k)                  rows that an index finds by the values of k in names, if few
    SELECT MEDIAN(v), COUNT(*) FROM volume                     values of an ordered index beside the middle, and how many others
    SELECT DISTINCT v …, SELECT v, COUNT(*) … GROUP BY v       each value of an ordered index once, with how often it is there

The plan stays as it is, over relations of fewer rows that give the same answer: every condition is tested again, and every
figure is made by the operator that a view would have. So nothing here can change an answer but by leaving rows out that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count

from sash.database.access import Choice, Chooser
from sash.database.indexes import Access, access_of
from sash.database.matching import Matching, matched_by
from sash.deep import deeply
from sash.deltas import Layout
from sash.operators.filter.conditions import parted
from sash.operators.group_by.tables import fraction_of
from sash.operators.shared_order.spec import PERCENTILES
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.index_method import HASH, TREE
from sash.plan.nodes import Aggregate, Combination, Combine, Filter, Join, Plan, Project, Scan, scans
from sash.plan.rewrite import over_parts, over_scans
from sash.plan.rules.conditions import conjunction, conjuncts, read
from sash.plan.rules.optimize import optimize
from sash.plan.user_aggregates import UserAggregate
from sash.runtime.access import Read, Wanted
from sash.runtime.live import ReadRows, Relations
from sash.scalar.nodes import Call, Column, Expression, remap
from sash.sql.catalog import IndexDefinition
from sash.sql.questions import Question
from sash.stores.view_index import IndexShape
from sash.tree import rebuild

Indexes = Callable[[str], Mapping[IndexShape, IndexDefinition]]  # of a view
Pairs = Sequence[tuple[int, int]]  # columns of a relation, and of another one, that are equal in all rows that matter

# Where both inputs must have a row, or the right one is looked at for those of the left one.
BOTH = (Combination.INTERSECT, Combination.INTERSECT_ALL)
BY_LEFT = (*BOTH, Combination.EXCEPT, Combination.EXCEPT_ALL)


@dataclass(frozen=True)
class Values:
    """Of which columns values matter, and nothing else; given fractions, of one column at most, and near these."""

    columns: frozenset[int]
    fractions: frozenset[Fraction] | None


@dataclass(frozen=True, eq=False)
class Rows:
    """Those of a view of which conditions are true, some of which can be tested where they lie; or of these rows those that
    another relation has; or their values, if that is all that matters and an index tells them."""

    view: str
    layout: Layout
    filters: tuple[Expression, ...]
    conditions: tuple[Call, ...]
    values: Values | None = None
    matching: Matching | None = None

    def choices(self, indexes: Iterable[IndexShape]) -> list[Choice]:
        chooser, shapes = self._chooser(), list(indexes)
        if self.values is None:
            return chooser.choices(shapes)
        told, fractions = self.values.columns, self.values.fractions
        found = [one for shape in shapes if (one := chooser.by_values(shape, told, fractions)) is not None]
        return [max(found, key=lambda choice: choice.merit)] if found else chooser.choices(shapes)

    def wished(self) -> Iterator[IndexShape]:
        if self.values is not None and len(self.values.columns) == 1 and not self.filters:
            yield IndexShape(tuple(self.values.columns), TREE)
        yield from self._chooser().wished()

    def _chooser(self) -> Chooser:
        return Chooser(self.layout, self.filters, (), None)


@dataclass(frozen=True, eq=False)
class Narrowed:
    """A question over relations of its own: what each has of which view, and how it is found."""

    question: Question
    rows: Mapping[str, Rows]
    accesses: Mapping[str, Access]
    wanted: dict[str, Wanted] = field(default_factory=dict)  # when it was last asked

    def relations(self, read_rows: ReadRows, tables: Relations) -> Relations:
        """All that it reads; those that are matched after those that they match."""
        found = dict(tables)
        for name, rows in sorted(self.rows.items(), key=lambda one: one[1].matching is not None):
            wanted = self.accesses[name].wanted
            if rows.matching is not None:
                wanted = matched_by(rows.matching, found[rows.matching.source], wanted)
            found[name], self.wanted[name] = read_rows(Read(rows.view, wanted)), wanted
        return found


@dataclass(frozen=True)
class Chain:
    """Filters and projections over a view or table: conditions on its columns, whether these are all, and which are shown."""

    scan: Scan
    conditions: tuple[Expression, ...]
    has_all: bool
    columns: tuple[int | None, ...]


@deeply
def narrowed(question: Question, indexes: Indexes) -> Narrowed | None:
    """None where all rows of all views are needed."""
    narrowing = Narrowing(question, indexes)
    plan = over_parts(optimize(question.plan), narrowing.change)
    names = {scan.name for scan in scans(plan)}
    rows = {name: one for name, one in narrowing.rows.items() if name in names}
    accesses = {name: narrowing.accesses[name] for name in rows}
    if not any(one.conditions or one.matching or accesses[name].wanted.access or any(one.wished()) for name, one in rows.items()):
        return None
    return Narrowed(replace(question, plan=plan), rows, accesses)


class Narrowing:
    """Puts relations in the place of views; what they have, by their names."""

    def __init__(self, question: Question, indexes: Indexes) -> None:
        self.rows: dict[str, Rows] = {}
        self.accesses: dict[str, Access] = {}
        self._views, self._tables = ({one.name for one in some} for some in (question.views, question.tables))
        self._indexes = indexes
        self._names: dict[tuple[object, ...], str] = {}

    def change(self, part: Plan, changed: Callable[[Plan], Plan]) -> Plan:
        found = self._read(part)
        if found is not None:
            return _renamed(part, found[0])
        if isinstance(part, Join):
            pairs = list(zip(part.left_keys, part.right_keys, strict=True))
            return self._matched(part, pairs, changed, both=True) or rebuild(part, changed)
        if isinstance(part, Combine) and part.how in BY_LEFT:
            pairs = [(column, column) for column in range(len(part.schema))]
            return self._matched(part, pairs, changed, both=part.how in BOTH) or rebuild(part, changed)
        return rebuild(part, changed)

    def _read(self, part: Plan) -> tuple[str, tuple[int | None, ...]] | None:
        """The relation that is read by a chain, or by a GROUP BY over one; and which of its columns those of the part are."""
        if not isinstance(part, Aggregate):
            chain = _chain(part)
            return None if chain is None or chain.scan.name not in self._views else (self._name(chain), chain.columns)
        chain = _chain(part.input)
        if chain is None or chain.scan.name not in self._views:
            return None
        columns = (*(chain.columns[key] for key in part.keys), *(None for _ in part.calls))
        return self._name(chain, _values(part, chain)), columns

    def _matched(
        self, part: Join | Combine, pairs: Pairs, changed: Callable[[Plan], Plan], *, both: bool
    ) -> Join | Combine | None:
        """The rows of one input that matter are those that match the other: by an index, if there is one."""
        turned = [(right, left) for left, right in pairs]
        if (right := self._matching(part.right, turned, part.left)) is not None:
            return replace(part, left=changed(part.left), right=right)
        if both and (left := self._matching(part.left, pairs, part.right)) is not None:
            return replace(part, left=left, right=changed(part.right))
        return None

    def _matching(self, part: Plan, pairs: Pairs, other: Plan) -> Plan | None:
        """One that reads only rows that have values of the other."""
        chain, source = _chain(part), self._source(other)
        if chain is None or chain.scan.name not in self._views or source is None:
            return None
        columns: dict[int, int] = {}
        for own, of_other in pairs:
            place, match = chain.columns[own], source[1][of_other]
            if place is not None and match is not None:
                columns.setdefault(place, match)
        rows = self._rows_of(chain)
        shape = _shape(self._indexes(rows.view), columns)
        if shape is None or self._access(rows).wanted.access is not None or source[0] == self._name(chain):
            return None
        matching = Matching(shape, tuple(columns[column] for column in shape.columns), source[0])
        key = rows.view, rows.filters, matching
        return _renamed(part, self._named(key, replace(rows, matching=matching), self._access(rows, matching)))

    def _source(self, part: Plan) -> tuple[str, tuple[int | None, ...]] | None:
        """The relation of a view, or a table, that has all values of a part."""
        chain = _chain(part)
        if chain is not None and chain.scan.name in self._tables:
            return chain.scan.name, chain.columns
        return self._read(part)

    def _rows_of(self, chain: Chain) -> Rows:
        conditions = parted(conjunction(chain.conditions))[0] if chain.conditions else ()
        return Rows(chain.scan.name, Layout(chain.scan.schema), chain.conditions, tuple(conditions))

    def _access(self, rows: Rows, matching: Matching | None = None) -> Access:
        indexes = self._indexes(rows.view)
        access = access_of(rows, indexes)
        if matching is None:
            return access
        index = indexes[matching.shape]
        names, source = ", ".join(index.columns), self.rows.get(matching.source)
        reason = f"{names} of {matching.source if source is None else source.view}, if these are few"
        return replace(access, text=f"index {index.name} of {index.view}, {index.method} ({names}): {reason}")

    def _name(self, chain: Chain, values: Values | None = None) -> str:
        """Of what a chain reads, or of its values, where all conditions can be tested where rows lie."""
        rows = self._rows_of(chain)
        if values is not None and chain.has_all and len(rows.conditions) == len(rows.filters):
            rows = replace(rows, values=values)
        return self._named((rows.view, rows.filters, rows.values), rows, self._access(rows))

    def _named(self, key: tuple[object, ...], rows: Rows, access: Access) -> str:
        if key not in self._names:
            numbered = (f"{rows.view} {number}" for number in count(len(self._names)))
            self._names[key] = next(name for name in numbered if name not in self._tables)
        name = self._names[key]
        self.rows.setdefault(name, rows)
        self.accesses.setdefault(name, access)
        return name


def _renamed(part: Plan, name: str) -> Plan:
    return over_scans(part, lambda scan: replace(scan, name=name))


def _chain(plan: Plan) -> Chain | None:
    steps = list[Filter | Project]()
    while isinstance(plan, Filter | Project):
        steps.append(plan)
        plan = plan.input
    if not isinstance(plan, Scan):
        return None
    conditions, has_all = list[Expression](), True
    columns: list[int | None] = list(range(len(plan.schema)))
    for step in reversed(steps):
        if isinstance(step, Project):
            columns = [columns[one.index] if isinstance(one, Column) else None for one in step.expressions]
            continue
        for condition in conjuncts(step.predicate):
            places = {place: beneath for place in read(condition) if (beneath := columns[place]) is not None}
            if len(places) == len(read(condition)):
                conditions.append(remap(condition, places))
            else:
                has_all = False
    return Chain(plan, tuple(conditions), has_all, tuple(columns))


def _shape(indexes: Iterable[IndexShape], columns: Iterable[int]) -> IndexShape | None:
    """The index by hash of most of some columns."""
    found = [shape for shape in indexes if shape.method == HASH and set(shape.columns) <= set(columns)]
    return max(found, key=lambda shape: len(shape.columns), default=None)


def _values(group_by: Aggregate, chain: Chain) -> Values | None:
    """What a GROUP BY needs, if that is values of columns of a view and how often they are there."""
    if any(call.second is not None or isinstance(call.parameter, UserAggregate) for call in group_by.calls):
        return None
    arguments = [call.argument for call in group_by.calls if call.argument is not None]
    found = {chain.columns[place] for place in (*group_by.keys, *arguments)}
    columns = frozenset(column for column in found if column is not None)
    if len(columns) < len(found):
        return None
    fractions = _fractions(group_by.calls) if not group_by.keys and len(columns) <= 1 else None
    return Values(columns, fractions)


def _fractions(calls: Sequence[AggregateCall]) -> frozenset[Fraction] | None:
    """Where in the order of values the figures are that are asked for; None if some of them are not of an order."""
    found = set[Fraction]()
    for call in calls:
        if call.function in (Function.MIN, Function.ANY_VALUE):
            found.add(Fraction(0))
        elif call.function is Function.MAX:
            found.add(Fraction(1))
        elif call.function in PERCENTILES:
            fraction = Fraction(*fraction_of(call))
            found.add(1 - fraction if call.function is Function.PERCENTILE_DISC_DESC else fraction)
        elif call.function is not Function.COUNT or call.is_distinct:
            return None
    return frozenset(found)
