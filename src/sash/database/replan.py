"""Views that run are planned anew when what is known of their streams makes another plan far cheaper.

Between two steps, and only now and then. What is looked at is how the streams were since the last time, not since the beginning;
where nothing has changed much, plans are not compared again. No row is lost or shown twice: the host fills the new operators with
the rows in memory, and goes on with the old plan wherever that does not give exactly the old answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from sash.database.queries import Queries
from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.planner.choose import Choice, CommonChoice, better
from sash.planner.job import View
from sash.planner.placement import Expiry
from sash.runtime.embedded import EmbeddedHost
from sash.sql.catalog import ViewDefinition

FIRST = 4096
LAST = 1 << 16
FAR_APART = 2.0  # rates, or numbers of values, whose ratio is beyond this


class Replanner:
    """Knows when to think again."""

    def __init__(self) -> None:
        self._waiting = self._every = FIRST
        self._known: Statistics | None = None  # when plans were last compared
        self.times = 0  # that a plan was changed

    def is_due(self, rows: int) -> bool:
        """Whether it is time, now that so many more rows have come."""
        self._waiting -= rows
        if self._waiting > 0:
            return False
        self._every = min(2 * self._every, LAST)
        self._waiting = self._every
        return True

    def look(
        self, host: EmbeddedHost, queries: Queries, views: Iterable[ViewDefinition], streams: Collection[StreamSpec]
    ) -> None:
        """Plan views anew where that is far cheaper."""
        running = [view for view in views if (now := queries.choice_of(view.plan)) is not None and not _is_settled(now)]
        if not running:
            return
        statistics = host.stream_statistics()
        host.look_afresh()
        for view, found in self.found(statistics, running, lambda view: queries.choice_of(view.plan), 1):
            placed = View(view.name, *found.placed(1, Expiry.AUTO))
            if host.replan([placed], streams):
                queries.replanned(placed, view.plan, found)
                self.times += 1

    def found(
        self, seen: Statistics, views: Iterable[ViewDefinition], current: Callable[[ViewDefinition], Choice | None], shards: int
    ) -> Iterator[tuple[ViewDefinition, Choice]]:
        """The views that another plan would be far cheaper for, and that plan."""
        # Operators that run were counted, others not: to compare them, all are estimated alike.
        statistics = replace(seen, operators={})
        if self._known is not None and not _is_far(self._known, statistics):
            return
        self._known = statistics
        for view in views:
            now = current(view)
            found = None if now is None or _is_settled(now) else better(view.plan, now, shards, Expiry.AUTO, statistics)
            if found is not None:
                yield view, found


def _is_settled(choice: Choice) -> bool:
    """Whether a view has no other plan, or others have a part in how it runs."""
    return choice.is_only or isinstance(choice, CommonChoice)


def _is_far(one: Statistics, other: Statistics) -> bool:
    """Whether rates or numbers of values are far apart."""
    pairs = [(one.rates.get(name), rate) for name, rate in other.rates.items()]
    pairs += [(one.distinct.get(name), values) for name, values in other.distinct.items()]
    return any(old is None or not old / FAR_APART <= new <= old * FAR_APART for old, new in pairs)
