"""A job: all views of a session, cut into levels at the exchanges.

    sources ─▶ level 1 ─▶ exchange ─▶ level 2 ─▶ … ─▶ changes
                 every level runs on all shards; a shard reads the ports of its level

A port is where rows enter a level: the rows of a stream, or those that a lower level sends. A stream that two parts of a job read
by different keys has two ports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sash.logical.nodes import Plan
from sash.logical.streams import StreamSpec
from sash.physical.choose import Choice
from sash.physical.placement import Expiry
from sash.physical.specs import PortSpec, Spec
from sash.schema import Schema


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


@dataclass(frozen=True)
class Job:
    """Everything that a host needs to run; a value that can be pickled."""

    streams: tuple[StreamSpec, ...]
    views: tuple[View, ...]
    ports: tuple[Port, ...]
    levels: int
    shards: int
    schedules: tuple[tuple[str, str], ...] = ()  # of views by name, and under "" of everything else; it changes no answer

    def stream(self, name: str) -> StreamSpec:
        return next(stream for stream in self.streams if stream.name == name)

    def view(self, name: str) -> View:
        return next(view for view in self.views if view.name == name)

    @property
    def asks_tables_for_time(self) -> bool:
        """Whether something changes with time, and no stream tells it."""
        return all(stream.is_table for stream in self.streams) and any(port.spec.is_time for port in self.ports)

    def ports_of(self, stream: str) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.stream == stream)


def plan_job(
    streams: Mapping[str, StreamSpec], views: Mapping[str, Plan | Choice], shards: int, expiry: Expiry = Expiry.AUTO
) -> Job:
    """Choose operators and places for all views."""
    chosen = {name: view if isinstance(view, Choice) else Choice(view) for name, view in views.items()}
    placed = tuple(View(name, *way.placed(shards, expiry)) for name, way in chosen.items())
    found: dict[PortSpec, None] = {}
    for view in placed:
        for port in _ports(view.spec):
            found.setdefault(port)
    ports = tuple(Port(number, spec) for number, spec in enumerate(found))
    read = {port.stream for port in ports}
    levels = max((view.level for view in placed), default=1)
    return Job(tuple(s for name, s in streams.items() if s.name in read), placed, ports, levels, shards)


def _ports(spec: Spec) -> Iterator[PortSpec]:
    """Every port that a spec needs, those of lower levels first."""
    if isinstance(spec, PortSpec):
        if spec.source is not None:
            yield from _ports(spec.source)
        yield spec
    for below in spec.inputs:
        yield from _ports(below)
