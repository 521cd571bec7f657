"""The queries that run: which operators each needs, and who shares them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from sash.database.view_templates import Bind, ViewTemplates
from sash.operators.shared import SharedSpec
from sash.operators.shared_join.schedules import AUTO
from sash.operators.spec import PortSpec, Spec, parts
from sash.plan.nodes import Plan
from sash.plan.rewrite import read_since
from sash.plan.statistics import Statistics
from sash.planner.choose import Choice, choose
from sash.planner.job import View
from sash.planner.lookback import can_share
from sash.planner.placement import Expiry
from sash.sql.catalog import Catalog, ViewDefinition

_CREATE = re.compile(r"\s*CREATE\s+MATERIALIZED\s+VIEW\s+([A-Za-z_]\w*)\s+AS\s+(.*?)\s*;?\s*", re.IGNORECASE | re.DOTALL)
SHARED = ("shared_joins", "shared_groups", "shared_orders")  # columns of SHOW QUERIES
FEW = 5  # names that are told one by one


class Queries:
    """The materialized views that run, by name, and the parts of their specs."""

    def __init__(self) -> None:
        self.views: dict[str, View] = {}
        self.join_schedules = {"": AUTO}  # by view; "": of all others
        self._users: dict[Spec, dict[str, None]] = {}  # of a part: the views
        self._plans: dict[Plan, View] = {}  # of running views
        self.choices: dict[tuple[Plan, int], Choice] = {}  # how plans are run, by number of shards
        self._texts: dict[str, ViewDefinition] = {}
        self._templates = ViewTemplates()

    def chosen(self, plan: Plan, shards: int, expiry: Expiry, statistics: Statistics) -> Choice:
        """How a plan is run: decided once, so that nothing that is declared later changes it."""
        if (plan, shards) not in self.choices:
            self.choices[plan, shards] = choose(plan, shards, expiry, statistics)
        return self.choices[plan, shards]

    def place(
        self, definition: ViewDefinition, shards: int, expiry: Expiry, statistics: Statistics, moment: int, *, remembers: bool
    ) -> View:
        """Choose the operators of a view that is created at a moment; 0 is before the first row.

        It shares what runs already. Where that is not possible, since too little is remembered, it has its own of everything.
        """
        plan = definition.plan
        if (running := self._plans.get(plan)) is not None:
            return View(definition.name, running.spec, running.level)
        view = View(definition.name, *self.chosen(plan, shards, expiry, statistics).placed(shards, expiry))
        if moment and not (remembers and can_share(view.spec, self._users.keys())):
            own = choose(read_since(plan, moment), shards, expiry, statistics)  # of this moment, so nobody asks for it again
            view = View(definition.name, *own.placed(shards, expiry))
        return view

    def add(self, view: View, plan: Plan) -> None:
        self.views[view.name] = view
        self._plans.setdefault(plan, view)
        for part in running_parts(view.spec):
            self._users.setdefault(part, {})[view.name] = None

    def choice_of(self, plan: Plan) -> Choice | None:
        """How a plan is run in one shard; None for one that shares nothing with older views."""
        return self.choices.get((plan, 1)) if plan in self._plans else None

    def replanned(self, view: View, plan: Plan, choice: Choice) -> None:
        """A view is run in another way from now on."""
        self.remove(view.name)
        self.add(view, plan)
        self.choices[plan, 1] = choice

    def remove(self, name: str) -> None:
        view = self.views.pop(name)
        for part in running_parts(view.spec):
            self._users[part].pop(name)
            if not self._users[part]:
                del self._users[part]
        for plan in [plan for plan, first in self._plans.items() if first.name == name]:
            heir = next((other for other in self.views.values() if other.spec == view.spec), None)
            if heir is None:
                del self._plans[plan]
            else:
                self._plans[plan] = heir

    def forget(self, catalog: Catalog) -> None:
        """How plans are run that no view has any more, and what their texts mean."""
        plans = {view.plan for view in (*catalog.views.values(), *catalog.windows.values())}
        self.choices = {key: choice for key, choice in self.choices.items() if key[0] in plans}
        self._texts = {text: known for text, known in self._texts.items() if catalog.views.get(known.name.lower()) is known}

    def learn_text(self, definition: ViewDefinition) -> None:
        self._texts[definition.sql] = definition
        self._templates.learn(definition.sql)

    def forget_texts(self) -> None:
        """What a text means may have changed."""
        self._texts.clear()

    def forget_templates(self) -> None:
        """The same of texts that no view has, but others like them."""
        self._templates.forget()

    def known(self, sql: str, catalog: Catalog, bind: Bind) -> ViewDefinition | None:
        """The definition that a statement makes, if it is a view of a query that is known to the letter, or but for constants;
        `bind` says what any query comes to."""
        match = _CREATE.fullmatch(sql)
        if match is None:
            return None
        name, query = match.groups()
        known = self._texts.get(query)
        # What a view reads cannot change while the view is there.
        if known is None or catalog.views.get(known.name.lower()) is not known:
            known = self._templates.found(query, bind)
        return None if known is None else replace(known, name=name, history=None)

    def sharers(self, spec: Spec, name: str) -> list[str]:
        """The other views that use a part."""
        return [other for other in self._users.get(spec, ()) if other != name]

    def sharing_text(self, spec: Spec, name: str) -> str:
        """The operators of a view that others use too, and who; empty if there are none."""
        running = self.views[name].spec if name in self.views else spec
        lines = []
        for part in running_parts(running):
            others = self.sharers(part, name)
            if others:
                title = self._summary(part) if isinstance(part, SharedSpec) else part.title
                lines.append(f"{title}  with: {_few(others)}")
        return "\n".join(["shared", *lines]) if lines else ""

    def _summary(self, shared: SharedSpec) -> str:
        """How many windows run in a join, or over the same groups, or sets of figures over an order, and for how many queries."""
        users = self._users[shared]
        taps = {part: None for name in users for part in parts(self.views[name].spec) if part.shared is shared}
        told = shared.summary(taps, len(users))
        return f"{told}, schedule: {self._join_schedule(users)}" if shared.has_turns else told

    def _join_schedule(self, users: Container[str]) -> str:
        """Which window is served first where these views share a join."""
        schedules = self.join_schedules
        return next((schedules[name] for name in reversed(schedules) if name and name in users), schedules[""])

    def _summaries(self, name: str) -> dict[str, str]:
        """What the query of a view shares, by the columns that tell of it."""
        found: dict[str, list[str]] = {column: [] for column in SHARED}
        for part in running_parts(self.views[name].spec):
            if isinstance(part, SharedSpec) and self.sharers(part, name):
                found[part.shown_as].append(self._summary(part))
        return {column: "; ".join(told) for column, told in found.items()}

    def table(self, catalog: Catalog, complete_since: Callable[[str], datetime | None]) -> pa.Table:
        """SHOW QUERIES."""
        names = list(self.views)
        operators = {name: [p for p in set(parts(self.views[name].spec)) if not isinstance(p, PortSpec)] for name in names}
        alone = {name: sum(not self.sharers(part, name) for part in operators[name]) for name in names}
        shared = {
            name: {other for part in running_parts(self.views[name].spec) if not isinstance(part, PortSpec)
                   for other in self.sharers(part, name)}
            for name in names
        }  # fmt: skip
        told = {name: self._summaries(name) for name in names}
        return pa.table(
            {
                "name": pa.array(names, pa.string()),
                "complete_since": pa.array([complete_since(name) for name in names], pa.timestamp("us")),
                "operators": pa.array([len(operators[name]) for name in names], pa.int64()),
                "own": pa.array([alone[name] for name in names], pa.int64()),
                "shared_with": pa.array([_few(sorted(shared[name])) for name in names], pa.string()),
                **{column: pa.array([told[name][column] for name in names], pa.string()) for column in SHARED},
                "query": pa.array([_text(catalog, name) for name in names], pa.string()),
            }
        )


def running_parts(spec: Spec) -> dict[Spec, None]:
    """The parts of a spec, and the operators with several outputs that run some of them."""
    found = parts(spec)
    return found | {part.shared: None for part in found if part.shared is not None}


def _text(catalog: Catalog, name: str) -> str:
    view = catalog.kept_view(name)
    assert view is not None
    return view.sql


def _few(names: list[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more

