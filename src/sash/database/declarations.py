"""What has been declared: streams and views by their names, how views are planned, and by which schedules they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.database.answer import in_order
from sash.database.automatic_indexes import AutomaticIndexes
from sash.database.following import Follower, Following
from sash.database.options import check_expiry, check_indexes
from sash.database.queries import Queries
from sash.database.questions import Questions
from sash.database.sinks import Sinks
from sash.errors import SashError, as_text, choices
from sash.operators.shared_join.schedules import parse_join_schedule
from sash.plan.statistics import NOTHING_KNOWN
from sash.plan.streams import StreamSpec
from sash.planner.job import Job, plan_job
from sash.planner.placement import Expiry
from sash.runtime.schedule import parse_schedule
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.turns import Turns, in_turn


class Declarations(ABC):
    """A catalog, and what is known besides of what is in it."""

    def __init__(
        self, base: Path | str | None, expiry: str, schedule: str, join_schedule: str, indexes: str = "auto"
    ) -> None:
        check_expiry(expiry)
        check_indexes(indexes)
        self.turns = Turns()
        self.base = Path.cwd() if base is None else Path(base)  # relative paths of sources start here
        self.expiry = Expiry(expiry)
        self.catalog = Catalog()
        self.statistics = NOTHING_KNOWN
        self.queries = Queries()
        self._schedules: dict[str, str] = {}  # by view; "": of all others
        self._set_schedule(schedule, "", join_schedule)
        self.questions = Questions()
        self.automatic_indexes = AutomaticIndexes(is_on=indexes == "auto")
        self.sinks = Sinks()
        self.following = Following(self.base, self._apply_followed)

    @abstractmethod
    def _apply_followed(self, spec: StreamSpec, follower: Follower, fetched: Any) -> None:
        """Put down what has changed in a table that follows something outside."""

    @in_turn
    def planned(self, shards: int) -> Job:
        """All that is kept as a job."""
        views = {
            view.name: self.queries.chosen(view.plan, shards, self.expiry, self.statistics)
            for view in (*self.materialized().values(), *self.catalog.windows.values())
        }
        return replace(plan_job(self.catalog.streams, views, shards, self.expiry), schedules=self._all_schedules())

    def materialized(self) -> dict[str, ViewDefinition]:
        """The views that are kept up to date, by name."""
        return {view.name: view for view in self.catalog.views.values() if view.is_materialized}

    def _view(self, name: str) -> ViewDefinition:
        found = self.catalog.kept_view(as_text(name, "a view's name"))
        if found is None:
            known = choices(view.name for view in self.catalog.views.values())
            raise SashError(f'unknown view "{name}"', f"views are: {known}")
        return found

    def _kept_view(self, name: str) -> str:
        """The name of a materialized view as it was written."""
        view = self._view(name)
        if not view.is_materialized:
            raise SashError(f'view "{view.name}" is not kept', "create it with CREATE MATERIALIZED VIEW")
        return view.name

    def _stream(self, name: str) -> StreamSpec:
        found = self.catalog.streams.get(as_text(name, "a stream's name").lower())
        if found is None:
            known = choices(f"{stream.name} ({kind_of(stream)})" for stream in self.catalog.streams.values())
            raise SashError(f'unknown stream "{name}"', f"there are: {known}")
        return found

    def _presented(self, view: str, rows: pa.Table) -> pa.Table:
        """The rows of a view as users see them."""
        return in_order(rows, self._view(view).plan)

    def _set_schedule(self, schedule: str, view: str, join: str) -> None:
        order, of_joins = parse_schedule(schedule), parse_join_schedule(join)
        name, text = self._kept_view(view) if view else "", str(replace(order, join=of_joins))
        self._schedules = {**(self._schedules if view else {}), name: text}
        self.queries.join_schedules = {**(self.queries.join_schedules if view else {}), name: of_joins}

    def _all_schedules(self) -> tuple[tuple[str, str], ...]:
        kept = {"": "", **{view.name: "" for view in self.materialized().values()}} if len(self._schedules) > 1 else {"": ""}
        return tuple((name, text) for name, text in self._schedules.items() if name in kept)
