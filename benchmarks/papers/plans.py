"""The same plan over other stores: those that the papers had, for the patterns benchmark.

                  result and input of class-2 operators        join state       DISTINCT
    direct        one list, scanned at every unit of time      buckets          input and output, scanned
    negative      buckets, walked for every negative row;      buckets          input and output in buckets
                  windows scanned at every unit of time
    auto          first in, first out, or partitions by        buckets          delta-star
                  expiration

A negation keeps the rows of every value in a list, whatever the strategy; `direct` cannot run one. With `negative` its result is
in buckets. With `auto` it is in partitions by expiration where the negation stands right above its windows, so that the two ways
can be compared (seed 003, 6.4), and elsewhere in buckets, since many rows leave early (6.6).

What `negative` pays for most is to scan its windows. With windows in order it looks at their heads instead, as may have been
meant: then what remains to be compared is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from benchmarks.papers.specs import (
    BucketDistinctSpec,
    BucketJoinSpec,
    BucketResultSpec,
    ListDistinctSpec,
    ListExpireSpec,
    PartitionExpireSpec,
    PartitionResultSpec,
    SignedBucketJoinSpec,
)
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.expiry.spec import ExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.spec import GroupBySpec
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, SignedJoinSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sets.spec import MinusSpec
from sash.operators.spec import Spec, below
from sash.operators.windows.spec import TimeWindowSpec
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Column
from sash.schema import Kind
from sash.tree import rebuild

TICK = 1000  # microseconds of a unit of time
PARTITIONS = 50


class Stores(Enum):
    """Which stores a plan runs over."""

    ENGINE = "engine"
    PAPERS = "papers"
    IN_ORDER = "papers, windows in order"


def with_stores(spec: Spec, strategy: str, stores: Stores, longest: int) -> Spec:
    """A view's spec over these stores; no row lives longer than `longest`."""
    if stores is Stores.ENGINE:
        return spec
    if strategy == "negative":
        changed = _negative(longest, stores)(spec)
        return BucketResultSpec(changed, (0,)) if _has_result(spec) else changed
    if strategy == "direct":
        return _direct(longest)(spec)
    return _result_of_negation(_aware(longest)(spec), longest)


def _has_result(spec: Spec) -> bool:
    """DISTINCT keeps its output itself."""
    return not isinstance(spec, GroupBySpec | DistinctSpec)


def _direct(longest: int) -> Callable[[Spec], Spec]:
    def direct(spec: Spec) -> Spec:
        spec = rebuild(spec, direct)
        if isinstance(spec, GroupBySpec) and not spec.calls and isinstance(spec.input, ListExpireSpec):
            return ListDistinctSpec(_keys_of(spec, spec.input.input), is_plain=True)
        if isinstance(spec, ExpireSpec):
            return ListExpireSpec(spec.input, TICK, longest)
        return _bucket_join(spec)

    return direct


def _negative(longest: int, stores: Stores) -> Callable[[Spec], Spec]:
    def negative(spec: Spec) -> Spec:
        spec = rebuild(spec, negative)
        if isinstance(spec, ExpireSpec):
            return spec if stores is Stores.IN_ORDER else ListExpireSpec(spec.input, TICK, longest)
        if isinstance(spec, GroupBySpec) and not spec.calls:
            return BucketDistinctSpec(_keys_of(spec, spec.input))
        return _bucket_join(spec)

    return negative


def _aware(longest: int) -> Callable[[Spec], Spec]:
    def aware(spec: Spec) -> Spec:
        spec = rebuild(spec, aware)
        if isinstance(spec, DistinctSpec):
            return ListDistinctSpec(spec.input, is_plain=False)
        if isinstance(spec, LeavingJoinSpec):
            return PartitionExpireSpec(_columns_of(spec), PARTITIONS, longest)
        if isinstance(spec, ExpireSpec) and spec.input.pattern is Pattern.WEAK:
            return PartitionExpireSpec(spec.input, PARTITIONS, longest)
        return _bucket_join(spec)

    return aware


def _result_of_negation(spec: Spec, longest: int) -> Spec:
    """With a place for the answer, if there is a negation in it."""
    minus = spec.input if isinstance(spec, ProjectSpec) else spec
    if isinstance(minus, MinusSpec) and _is_window(minus.left) and _is_window(minus.right):
        instants = [place for place, type_ in enumerate(minus.schema.types) if type_.kind is Kind.TIMESTAMP]
        result = PartitionResultSpec(minus, PARTITIONS, longest, instants[0])
        return replace(spec, input=result) if isinstance(spec, ProjectSpec) else result
    return BucketResultSpec(spec, (0,)) if any(isinstance(one, MinusSpec) for one in below(spec)) else spec


def _is_window(spec: Spec) -> bool:
    while isinstance(spec, ExpireSpec | ProjectSpec | FilterSpec):
        spec = spec.input
    return isinstance(spec, TimeWindowSpec)


def _columns_of(spec: LeavingJoinSpec) -> Spec:
    """The pairs as rows that carry their expiry: the papers keep them."""
    join = BucketJoinSpec(spec.left, spec.right, spec.left_keys, spec.right_keys)
    types, names = join.schema.types, join.schema.names
    return ProjectSpec(join, tuple(Column(c, types[c], names[c]) for c in spec.columns), spec.names)


def _bucket_join(spec: Spec) -> Spec:
    if isinstance(spec, SignedJoinSpec):
        return SignedBucketJoinSpec(spec.left, spec.right, spec.left_keys, spec.right_keys)
    if type(spec) is JoinSpec:
        return BucketJoinSpec(spec.left, spec.right, spec.left_keys, spec.right_keys)
    return spec


def _keys_of(spec: GroupBySpec, below: Spec) -> Spec:
    columns = tuple(Column(key, below.schema.types[key], below.schema.names[key]) for key in spec.keys)
    return ProjectSpec(below, columns, spec.names)
