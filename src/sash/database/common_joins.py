"""Queries move onto common joins, and off them again, as others come and go (`planner/join_sharing.py` says when that pays).

A query that comes begins where it belongs. One that runs is moved between two steps, as one is that is planned anew: its new
operators are filled with the rows in memory, and it stays as it is where these do not give exactly its answer. On Spark they are
looked at now and then, and moved by trials (`spark/trials.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sash.database.queries import Queries
from sash.operators.spec import Spec
from sash.plan.nodes import Plan
from sash.planner.choose import Choice, CommonChoice
from sash.planner.job import View
from sash.planner.join_sharing import JoinSharing, Seen
from sash.planner.placement import Expiry
from sash.runtime.embedded import EmbeddedHost

NONE: frozenset[Spec] = frozenset()


class CommonJoins:
    """Which queries use common joins."""

    def __init__(self, queries: Queries) -> None:
        self._queries, self._sharing = queries, JoinSharing()
        self._seen: Seen | None = None
        self._plans: dict[str, Plan] = {}  # of the queries that may be moved
        self._moving: set[str] = set()

    def come(self, view: View, plan: Plan) -> View:
        """A query comes, planned for itself: how it runs beside the others. One that holds its changes back stays as it is, and
        so does one that shares nothing, since too little is remembered for it.
        """
        choice = self._queries.choices.get((plan, 1))
        if choice is None or view.spec.is_held_back or self._queries.choice_of(plan) is not None:
            return view
        spec, _ = _below(choice).placed(1, Expiry.AUTO)
        if view.spec not in (spec, choice.placed(1, Expiry.AUTO)[0]):
            return view
        self._plans[view.name] = plan
        self._moving |= self._sharing.add(view.name, spec, self._seen)
        self._moving.discard(view.name)
        placed, self._queries.choices[plan, 1] = self._placed(view.name, _below(choice))
        return placed

    def go(self, name: str) -> None:
        """A query goes."""
        if self._plans.pop(name, None) is not None:
            self._moving |= self._sharing.remove(name)
            self._moving.discard(name)

    def judge_anew(self, host: EmbeddedHost) -> None:
        """More is known of the streams."""
        if self._sharing.has_choices:
            self._seen = Seen(host.stream_statistics(), host.shares())
            self._moving |= self._sharing.judged_anew(self._seen)

    def moves(self) -> Iterator[tuple[View, Plan, Choice]]:
        """The queries that are to run in another way than they do, each once."""
        moving, self._moving = sorted(self._moving), set()
        for name in moving:
            plan = self._plans[name]
            choice = self._queries.choice_of(plan)
            if choice is not None:
                placed, found = self._placed(name, _below(choice))
                if placed != self._queries.views[name]:
                    yield placed, plan, found

    def _placed(self, name: str, below: Choice) -> tuple[View, Choice]:
        choice = _above(below, self._sharing.of(name))
        return View(name, *choice.placed(1, Expiry.AUTO)), choice


def moved(running: Mapping[str, Choice], shards: int, seen: Seen) -> dict[View, Choice]:
    """Those of some queries that are to run in another way than they do, now that so much is known of the streams."""
    sharing = JoinSharing()
    for name, choice in running.items():
        spec, _ = _below(choice).placed(shards, Expiry.AUTO)
        if not spec.is_held_back:
            sharing.add(name, spec, None, choice.common if isinstance(choice, CommonChoice) else NONE)
    sharing.judged_anew(seen)
    wanted = {name: _above(_below(choice), sharing.of(name)) for name, choice in running.items()}
    return {View(name, *one.placed(shards, Expiry.AUTO)): one for name, one in wanted.items() if one != running[name]}


def _above(choice: Choice, common: frozenset[Spec]) -> Choice:
    """The same with conditions above these joins."""
    return CommonChoice(choice.plan, choice.signed_joins, choice.is_only, common) if common else choice


def _below(choice: Choice) -> Choice:
    return choice.below if isinstance(choice, CommonChoice) else choice
