"""A job: all views of a session, cut into levels at the exchanges.

    sources ─▶ level 1 ─▶ exchange ─▶ level 2 ─▶ … ─▶ changes
                 every level runs on all shards; a shard reads the ports of its level

A port is where rows enter a level: the rows of a stream, or those that a lower level sends. A stream that two parts of a job read
by different keys has two ports.

A job is a value. Views come and go by making another job of it: what both have keeps its ports and their numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sash.operators.spec import PortSpec, Spec, parts_from_below
from sash.plan.nodes import Plan
from sash.plan.streams import Stamp, StreamSpec
from sash.plan.times import ASKED, Time
from sash.planner.choose import Choice
from sash.planner.placement import Expiry
from sash.schema import Schema

BETWEEN = "\x00"  # the name of a view that is about to take the place of another


@dataclass(frozen=True)
class Port:
    """An entrance of a level, by number."""

    number: int
    spec: PortSpec

    @property
    def level(self) -> int:
        return self.spec.level

    @property
    def stream(self) -> str | None:
        """The stream read here, None behind an exchange."""
        return self.spec.stream

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @property
    def key(self) -> tuple[int, ...]:
        """The columns that pick the shard."""
        return self.spec.key

    @property
    def is_single(self) -> bool:
        """Whether all rows go to shard 0."""
        return not self.spec.key


@dataclass(frozen=True)
class View:
    """A view, what computes its changes, and the level at which."""

    name: str
    spec: Spec
    level: int

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @cached_property
    def time(self) -> Time:
        """The streams in whose time it lives: those that it reads."""
        return time_of(self.spec)


@dataclass(frozen=True)
class Job:
    """Everything that a host needs to run; a value, which can be written and read as plain data (`write_plan.py`)."""

    streams: tuple[StreamSpec, ...]
    views: tuple[View, ...]
    ports: tuple[Port, ...]
    levels: int
    shards: int
    remembers: bool = False  # whether shards keep the rows of live windows for views that come later
    next_port: int = 0  # numbers are never used again
    schedules: tuple[tuple[str, str], ...] = ()  # of views by name, and under "" of everything else; it changes no answer

    def has_time(self, stream: StreamSpec) -> bool:
        """Whether a stream's rows have times of their own, for some view at least."""
        is_latent = stream.stamp is Stamp.LATENT
        return not stream.is_table and not (is_latent and all(port.spec.stamped_by for port in self.ports_of(stream.name)))

    def stream(self, name: str) -> StreamSpec:
        return next(stream for stream in self.streams if stream.name == name)

    def view(self, name: str) -> View:
        return next(view for view in self.views if view.name == name)

    @property
    def asks_tables_for_time(self) -> bool:
        """Whether something changes with time, and no stream tells it."""
        return ASKED in self.times

    @cached_property
    def times(self) -> frozenset[Time]:
        """All times in which something lives."""
        own = (port.spec.stamped_by or port.spec.timed_by for port in self.ports if _has_own_time(port.spec))
        return frozenset([*(view.time for view in self.first_views), *own])

    def ports_of(self, stream: str) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.stream == stream)

    def new_ports(self, before: Job) -> tuple[Port, ...]:
        """Those that an earlier version of the job did not have."""
        had = {port.number for port in before.ports}
        return tuple(port for port in self.ports if port.number not in had)

    @cached_property
    def twins(self) -> Mapping[str, tuple[str, ...]]:
        """Views with equal specs are computed once: the name of the first of them, and those of all."""
        found: dict[Spec, list[str]] = {}
        for view in self.views:
            found.setdefault(view.spec, []).append(view.name)
        return {names[0]: tuple(names) for names in found.values()}

    def names_like(self, name: str) -> tuple[str, ...]:
        """The names of all views that have the spec of this one, the first one first."""
        return next(names for names in self.twins.values() if name in names)

    @cached_property
    def _places(self) -> dict[Spec, int]:
        """Of every spec, the place of its first view among `first_views`. Jobs that grow out of each other have it together: what
        lies behind the end of a job is that of one that has grown out of it.
        """
        return {view.spec: place for place, view in enumerate(self.first_views)}

    def _has(self, spec: Spec) -> bool:
        return self._places.get(spec, len(self.first_views)) < len(self.first_views)

    def _places_with(self, spec: Spec) -> dict[Spec, int]:
        """Those of this job, and one more; if another job has grown out of it already, in a copy."""
        count = len(self.first_views)
        is_last = len(self._places) == count
        places = self._places if is_last else {one: place for one, place in self._places.items() if place < count}
        places[spec] = count
        return places

    @cached_property
    def first_views(self) -> tuple[View, ...]:
        """The first of the views of every spec."""
        firsts = self.twins
        return tuple(view for view in self.views if view.name in firsts)

    def on(self, shards: int) -> Job:
        """The same on so many shards."""
        if shards == self.shards:
            return self
        if shards not in self._elsewhere:
            self._elsewhere[shards] = replace(self, shards=shards)
        return self._elsewhere[shards]

    @cached_property
    def _elsewhere(self) -> dict[int, Job]:
        return {}

    def only(self, *names: str) -> Job:
        """The part that some views need."""
        views = tuple(map(self.view, names))
        needed = {spec.base for view in views for spec in _ports(view.spec)}
        return replace(self, views=views, ports=tuple(port for port in self.ports if port.spec in needed))

    def with_view(self, view: View, streams: Iterable[StreamSpec], replaces: str | None = None) -> Job:
        """One more view, perhaps in place of another: what both read keeps its ports. `streams` are all that are declared."""
        if replaces is not None:
            return self.with_view(replace(view, name=BETWEEN), streams).handed_over(replaces, BETWEEN, view.name)
        if self._has(view.spec):
            grown = replace(self, views=(*self.views, view))
            grown.__dict__.update(first_views=self.first_views, _places=self._places, times=self.times)  # as below
            return grown
        known = {port.spec for port in self.ports}
        new = [spec for spec in dict.fromkeys(port.base for port in _ports(view.spec)) if spec not in known]
        ports = tuple(Port(self.next_port + number, spec) for number, spec in enumerate(new))
        have = {stream.name for stream in self.streams}
        wanted = {spec.stream for spec in new} - have
        more = tuple(stream for stream in streams if stream.name in wanted)
        grown = replace(
            self, streams=self.streams + more, views=(*self.views, view), ports=self.ports + ports,
            levels=max(self.levels, view.level), next_port=self.next_port + len(new),
        )
        # What is found out of this job need not be found out again: there may be thousands of views.
        own = [spec.stamped_by or spec.timed_by for spec in new if _has_own_time(spec)]
        grown.__dict__.update(
            first_views=(*self.first_views, view), _places=self._places_with(view.spec),
            times=self.times if view.time in self.times and not own else self.times.union([view.time, *own]),
        )
        return grown

    def handed_over(self, gone: str, heir: str, name: str) -> Job:
        """One view goes, and another goes on under this name."""
        job = self.without_view(gone)
        return replace(job, views=tuple(replace(one, name=name) if one.name == heir else one for one in job.views))

    def without_view(self, name: str) -> Job:
        gone = self.view(name)
        views = tuple(view for view in self.views if view.name != name)
        return replace(self, views=views) if any(view.spec == gone.spec for view in views) else self._with_no_others(views)

    def settled(self, exact: Collection[str]) -> Job:
        """Views that were tried beside others, under their names behind BETWEEN, end, or go on in the place of those."""
        tried = [view for view in self.views if view.name.startswith(BETWEEN)]
        views = [view for view in self.views if not view.name.startswith(BETWEEN) and view.name not in exact]
        views += [replace(view, name=name) for view in tried if (name := view.name.removeprefix(BETWEEN)) in exact]
        return self._with_no_others(tuple(views))

    def _with_no_others(self, views: tuple[View, ...]) -> Job:
        """The same with some of its views alone."""
        needed = {port.base for view in views for port in _ports(view.spec)}
        ports = tuple(port for port in self.ports if port.spec in needed)
        read = {port.stream for port in ports}
        return replace(self, streams=tuple(s for s in self.streams if s.name in read), views=views, ports=ports)


def plan_job(
    streams: Mapping[str, StreamSpec], views: Mapping[str, Plan | Choice], shards: int, expiry: Expiry = Expiry.AUTO
) -> Job:
    """Choose operators and places for all views."""
    chosen = {name: view if isinstance(view, Choice) else Choice(view) for name, view in views.items()}
    job = Job((), (), (), 1, shards)
    for name, way in chosen.items():
        job = job.with_view(View(name, *way.placed(shards, expiry)), streams.values())
    return replace(job, streams=tuple(stream for stream in streams.values() if stream in job.streams))


def time_of(spec: Spec) -> Time:
    """The streams that a spec reads, on all levels."""
    return tuple(sorted({name for port in _ports(spec) for name in _times(port)}))


def _times(port: PortSpec) -> Time:
    """The streams whose time a port brings."""
    if port.stream is None or port.is_table:
        return port.timed_by
    return port.stamped_by or (port.stream,)


def _has_own_time(port: PortSpec) -> bool:
    """Whether a port goes by a time, not by one stream."""
    return port.is_table or port.is_time or bool(port.stamped_by)


def _ports(spec: Spec) -> Iterator[PortSpec]:
    """Every port that a spec needs, those of lower levels first."""
    return (part for part in parts_from_below(spec) if isinstance(part, PortSpec))
