"""Which operator runs a spec: the one place that knows both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.operators import lists
from sash.operators.as_of import AsOf
from sash.operators.base import Operator, Surroundings
from sash.operators.begin import Begin
from sash.operators.changes import Deletions, Insertions
from sash.operators.combine import Combine, UnionAll
from sash.operators.distinct import Distinct
from sash.operators.emit import Emit
from sash.operators.expire import expire
from sash.operators.filter import Filter
from sash.operators.group_by import GroupBy
from sash.operators.input_expire import InputExpire
from sash.operators.join import Join, SignedJoin
from sash.operators.leaving_join import LeavingJoin
from sash.operators.lookup import Lookup, SignedLookup
from sash.operators.messages import Announce, MessageJoin, MessageLookup, message_expire
from sash.operators.minus import Minus
from sash.operators.over import Over
from sash.operators.paced import Paced
from sash.operators.project import Project
from sash.operators.reached import Reached
from sash.operators.sequence import sequence
from sash.operators.sliding_sums import SlidingSums
from sash.operators.snapshots import Snapshots
from sash.operators.table_changes import TableChanges
from sash.operators.ticks import Ticks
from sash.operators.top import top
from sash.operators.unnest import Unnest
from sash.operators.windows import CountWindow, JumpingWindow, PartitionWindow, TimeWindow
from sash.physical import expiry_specs, group_specs, pair_specs, paper_specs, set_specs, specs
from sash.physical.as_of import AsOfSpec
from sash.physical.over import OverSpec
from sash.physical.paced import PacedSpec
from sash.physical.reached import ReachedSpec
from sash.physical.specs import Spec
from sash.physical.ticks import TicksSpec
from sash.physical.unnest import UnnestSpec

_BUILDERS: dict[type[Spec], Callable[[Any, Surroundings], Operator]] = {
    specs.TimeWindowSpec: TimeWindow,
    specs.JumpingWindowSpec: JumpingWindow,
    specs.CountWindowSpec: CountWindow,
    specs.PartitionWindowSpec: PartitionWindow,
    specs.FilterSpec: Filter,
    specs.ProjectSpec: Project,
    specs.ExpireSpec: expire,
    pair_specs.JoinSpec: Join,
    pair_specs.SignedJoinSpec: SignedJoin,
    pair_specs.LookupSpec: Lookup,
    pair_specs.SignedLookupSpec: SignedLookup,
    group_specs.GroupBySpec: GroupBy,
    group_specs.OrderedGroupBySpec: GroupBy,
    group_specs.SlidingGroupBySpec: SlidingSums,
    specs.BeginSpec: Begin,
    specs.InsertionsSpec: Insertions,
    specs.DeletionsSpec: Deletions,
    specs.SnapshotsSpec: Snapshots,
    set_specs.UnionAllSpec: UnionAll,
    set_specs.CombineSpec: Combine,
    set_specs.MinusSpec: Minus,
    group_specs.TopSpec: top,
    OverSpec: Over,
    AsOfSpec: AsOf,
    ReachedSpec: Reached,
    TicksSpec: Ticks,
    PacedSpec: Paced,
    UnnestSpec: Unnest,
    pair_specs.SequenceSpec: sequence,
    specs.EmitSpec: Emit,
    specs.TableChangesSpec: TableChanges,
    expiry_specs.DistinctSpec: Distinct,
    expiry_specs.LeavingJoinSpec: LeavingJoin,
    expiry_specs.AnnounceSpec: Announce,
    expiry_specs.MessageJoinSpec: MessageJoin,
    expiry_specs.MessageLookupSpec: MessageLookup,
    expiry_specs.MessageExpireSpec: message_expire,
    expiry_specs.InputExpireSpec: InputExpire,
    paper_specs.ListExpireSpec: lists.ListExpire,
    paper_specs.PartitionExpireSpec: lists.PartitionExpire,
    paper_specs.BucketJoinSpec: lists.BucketJoin,
    paper_specs.SignedBucketJoinSpec: lists.SignedBucketJoin,
    paper_specs.ListDistinctSpec: lists.ListDistinct,
    paper_specs.BucketDistinctSpec: lists.BucketDistinct,
    paper_specs.BucketResultSpec: lists.BucketResult,
    paper_specs.PartitionResultSpec: lists.PartitionResult,
}


def build(spec: Spec, surroundings: Surroundings) -> Operator:
    return _BUILDERS[type(spec)](spec, surroundings)
