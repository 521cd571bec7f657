"""Which operator runs a spec: the one place that knows both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.papers.operators import (
    BucketDistinct,
    BucketJoin,
    BucketResult,
    ListDistinct,
    ListExpire,
    PartitionExpire,
    PartitionResult,
    SignedBucketJoin,
)
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
from sash.operators.as_of.operator import AsOf
from sash.operators.as_of.spec import AsOfSpec
from sash.operators.distinct.operator import Distinct
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.expiry.expire import expire
from sash.operators.expiry.input_expire import InputExpire
from sash.operators.expiry.messages import Announce, MessageJoin, MessageLookup, message_expire
from sash.operators.expiry.spec import (
    AnnounceSpec,
    ExpireSpec,
    InputExpireSpec,
    MessageExpireSpec,
    MessageJoinSpec,
    MessageLookupSpec,
)
from sash.operators.filter.operator import Filter
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.operator import GroupBy
from sash.operators.group_by.sliding_sums import SlidingSums
from sash.operators.group_by.spec import GroupBySpec, OrderedGroupBySpec, SlidingGroupBySpec
from sash.operators.join.leaving import LeavingJoin
from sash.operators.join.operator import Join, SignedJoin
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, SignedJoinSpec
from sash.operators.lookup.operator import Lookup, SignedLookup
from sash.operators.lookup.spec import LookupSpec, SignedLookupSpec
from sash.operators.operator import Operator, Surroundings
from sash.operators.over.operator import Over
from sash.operators.over.spec import OverSpec
from sash.operators.project.operator import Project
from sash.operators.project.spec import ProjectSpec
from sash.operators.sequence.operator import sequence
from sash.operators.sequence.spec import SequenceSpec
from sash.operators.sets.combine import Combine, UnionAll
from sash.operators.sets.minus import Minus
from sash.operators.sets.spec import CombineSpec, MinusSpec, UnionAllSpec
from sash.operators.spec import Spec
from sash.operators.streams.begin import Begin
from sash.operators.streams.changes import Deletions, Insertions
from sash.operators.streams.emit import Emit
from sash.operators.streams.snapshots import Snapshots
from sash.operators.streams.spec import BeginSpec, DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec, TableChangesSpec
from sash.operators.streams.table_changes import TableChanges
from sash.operators.time.current_period import Ticks
from sash.operators.time.spec import PacedSpec, ReachedSpec, TicksSpec
from sash.operators.time.time_gated import Paced
from sash.operators.time.time_predicate import Reached
from sash.operators.top.operator import top
from sash.operators.top.spec import TopSpec
from sash.operators.unnest.operator import Unnest
from sash.operators.unnest.spec import UnnestSpec
from sash.operators.windows.operator import CountWindow, JumpingWindow, PartitionWindow, TimeWindow
from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec

_BUILDERS: dict[type[Spec], Callable[[Any, Surroundings], Operator]] = {
    TimeWindowSpec: TimeWindow,
    JumpingWindowSpec: JumpingWindow,
    CountWindowSpec: CountWindow,
    PartitionWindowSpec: PartitionWindow,
    FilterSpec: Filter,
    ProjectSpec: Project,
    ExpireSpec: expire,
    JoinSpec: Join,
    SignedJoinSpec: SignedJoin,
    LookupSpec: Lookup,
    SignedLookupSpec: SignedLookup,
    GroupBySpec: GroupBy,
    OrderedGroupBySpec: GroupBy,
    SlidingGroupBySpec: SlidingSums,
    BeginSpec: Begin,
    InsertionsSpec: Insertions,
    DeletionsSpec: Deletions,
    SnapshotsSpec: Snapshots,
    UnionAllSpec: UnionAll,
    CombineSpec: Combine,
    MinusSpec: Minus,
    TopSpec: top,
    OverSpec: Over,
    AsOfSpec: AsOf,
    ReachedSpec: Reached,
    TicksSpec: Ticks,
    PacedSpec: Paced,
    UnnestSpec: Unnest,
    SequenceSpec: sequence,
    EmitSpec: Emit,
    TableChangesSpec: TableChanges,
    DistinctSpec: Distinct,
    LeavingJoinSpec: LeavingJoin,
    AnnounceSpec: Announce,
    MessageJoinSpec: MessageJoin,
    MessageLookupSpec: MessageLookup,
    MessageExpireSpec: message_expire,
    InputExpireSpec: InputExpire,
    ListExpireSpec: ListExpire,
    PartitionExpireSpec: PartitionExpire,
    BucketJoinSpec: BucketJoin,
    SignedBucketJoinSpec: SignedBucketJoin,
    ListDistinctSpec: ListDistinct,
    BucketDistinctSpec: BucketDistinct,
    BucketResultSpec: BucketResult,
    PartitionResultSpec: PartitionResult,
}


def build(spec: Spec, surroundings: Surroundings) -> Operator:
    return _BUILDERS[type(spec)](spec, surroundings)
