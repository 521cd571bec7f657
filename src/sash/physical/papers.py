"""The same plan over other stores: those that the papers had, for the patterns benchmark.

                  result and input of class-2 operators        join state       DISTINCT
    direct        one list, scanned at every unit of time      buckets          input and output, scanned
    negative      buckets, walked for every negative row;      buckets          input and output in buckets
                  windows scanned at every unit of time
    auto          first in, first out, or partitions by        buckets          delta-star
                  expiration
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from sash.logical.patterns import Pattern
from sash.physical.expiry import over_inputs
from sash.physical.expiry_specs import DistinctSpec
from sash.physical.paper_specs import (
    BucketDistinctSpec,
    BucketJoinSpec,
    BucketResultSpec,
    ListDistinctSpec,
    ListExpireSpec,
    PartitionExpireSpec,
    SignedBucketJoinSpec,
)
from sash.physical.specs import ExpireSpec, GroupBySpec, JoinSpec, ProjectSpec, SignedJoinSpec, Spec
from sash.scalar.nodes import Column

TICK = 1000  # microseconds of a unit of time
PARTITIONS = 50


class Stores(Enum):
    """Which stores a plan runs over."""

    ENGINE = "engine"
    PAPERS = "papers"


def with_stores(spec: Spec, strategy: str, stores: Stores, longest: int) -> Spec:
    """A view's spec over these stores; no row lives longer than `longest`."""
    if stores is Stores.ENGINE:
        return spec
    if strategy == "negative":
        changed = _negative(longest)(spec)
        return BucketResultSpec(changed, (0,)) if _has_result(spec) else changed
    return {"direct": _direct(longest), "auto": _aware(longest)}[strategy](spec)


def _has_result(spec: Spec) -> bool:
    """DISTINCT keeps its output itself."""
    return not isinstance(spec, GroupBySpec | DistinctSpec)


def _direct(longest: int) -> Callable[[Spec], Spec]:
    def direct(spec: Spec) -> Spec:
        spec = over_inputs(spec, direct)
        if isinstance(spec, GroupBySpec) and not spec.calls and isinstance(spec.input, ListExpireSpec):
            return ListDistinctSpec(_keys_of(spec, spec.input.input), is_plain=True)
        if isinstance(spec, ExpireSpec):
            return ListExpireSpec(spec.input, TICK, longest)
        return _bucket_join(spec)

    return direct


def _negative(longest: int) -> Callable[[Spec], Spec]:
    def negative(spec: Spec) -> Spec:
        spec = over_inputs(spec, negative)
        if isinstance(spec, ExpireSpec):
            return ListExpireSpec(spec.input, TICK, longest)
        if isinstance(spec, GroupBySpec) and not spec.calls:
            return BucketDistinctSpec(_keys_of(spec, spec.input))
        return _bucket_join(spec)

    return negative


def _aware(longest: int) -> Callable[[Spec], Spec]:
    def aware(spec: Spec) -> Spec:
        spec = over_inputs(spec, aware)
        if isinstance(spec, DistinctSpec):
            return ListDistinctSpec(spec.input, is_plain=False)
        if isinstance(spec, ExpireSpec) and spec.input.pattern is Pattern.WEAK:
            return PartitionExpireSpec(spec.input, PARTITIONS, longest)
        return _bucket_join(spec)

    return aware


def _bucket_join(spec: Spec) -> Spec:
    if isinstance(spec, SignedJoinSpec):
        return SignedBucketJoinSpec(spec.left, spec.right, spec.left_keys, spec.right_keys)
    if type(spec) is JoinSpec:
        return BucketJoinSpec(spec.left, spec.right, spec.left_keys, spec.right_keys)
    return spec


def _keys_of(spec: GroupBySpec, below: Spec) -> Spec:
    columns = tuple(Column(key, below.schema.types[key], below.schema.names[key]) for key in spec.keys)
    return ProjectSpec(below, columns, spec.names)
