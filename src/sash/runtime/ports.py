"""The ports of a shard: where rows of streams enter, wait until their instants are final, and are remembered.

    packets, or lanes of this process ─▶ clocks, lateness ─▶ intakes ─▶ feeds of the graph
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sash.deltas import Delta
from sash.operators.spec import TIME, PortSpec, Spec, beginning
from sash.plan.streams import StreamSpec
from sash.planner.job import Job, Port
from sash.planner.lookback import Lookbacks, kept_for, lookbacks
from sash.runtime.clocks import Clocks
from sash.runtime.entrance import Came
from sash.runtime.exchange import receive
from sash.runtime.graph import Feed
from sash.runtime.intake import Intake
from sash.runtime.lateness import Limits
from sash.runtime.latent import LatentIntake
from sash.runtime.losses import late_rows
from sash.runtime.lost_order import LOST, by_full_row
from sash.runtime.packets import OUTSIDE, Cargo, Packet
from sash.runtime.placed import PlacedIntake
from sash.runtime.unit import UnitIntake
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner


class Moved(NamedTuple):
    """What rows of one stream may move."""

    entered: list[Intake]  # where they come in
    intakes: list[tuple[PortSpec, Intake]]
    ports: list[tuple[PortSpec, tuple[PortSpec, ...]]]  # with the names under which the graph reads each


class Beginnings(Mapping[str, int | None]):
    """The instants of the first rows of all streams, and of time as such; looked up when somebody asks."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self.latent: dict[str, LatentIntake] = {}  # by the name of what begins with the first row that was given a time here

    def __getitem__(self, name: str) -> int | None:
        return self.latent[name].begin if name in self.latent else self._clocks.begin(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._clocks.streams, TIME, *self.latent])

    def __len__(self) -> int:
        return len(self._clocks.streams) + 1 + len(self.latent)


class Ports:
    """The ports of one shard, each with its intake if rows of a stream enter there."""

    def __init__(self, level: int, shard: int, arena: Arena, interner: Interner, clocks: Clocks) -> None:
        self._level, self._shard, self._arena, self._interner, self._clocks = level, shard, arena, interner, clocks
        self.begins = Beginnings(clocks)
        self.intakes: dict[PortSpec, Intake] = {}
        self.exchanges: list[Port] = []  # what other levels read of this one
        self._moved: dict[str, Moved] = {}  # by the stream whose rows come
        self._read: list[PortSpec] = []  # by the graph
        self._remembered: dict[Spec, None] = {}  # for what the past is kept

    def use(self, job: Job) -> None:
        """The ports of another job; those that it has in common with the one before stay as they are."""
        self._job = job
        self._moved.clear()
        ports = [port for port in job.ports if port.level == self._level]
        before, self.intakes = self.intakes, {}
        for port in ports:
            if port.stream is not None:
                self.intakes[port.spec] = before.pop(port.spec) if port.spec in before else self._intake(port)
                self.intakes[port.spec].port = port
        for spec in before:
            self._interner.release(f"ports/{spec.fingerprint}")
            self._arena.drop(f"ports/{spec.fingerprint}/")
        latent = (intake for intake in self.intakes.values() if isinstance(intake, LatentIntake))
        self.begins.latent = {beginning(str(one.port.stream), one.port.spec.stamped_by): one for one in latent}
        self._by_number = {intake.port.number: intake for intake in self.intakes.values()}
        self._unordered = {stream.name for stream in job.streams if not stream.is_in_order}
        self._arrivals = [port for port in ports if port.spec.source is not None]
        self._times = [port for port in ports if port.spec.is_time]
        self.exchanges = [port for port in job.ports if port.spec.source is not None and port.spec.source_level == self._level]

    def read_by(self, specs: Iterable[Spec]) -> None:
        """The graph has these specs."""
        self._read.clear()
        self.read_too(specs)

    def read_too(self, specs: Iterable[Spec]) -> None:
        """The graph has these specs besides."""
        self._moved.clear()
        self._read += [spec for spec in specs if isinstance(spec, PortSpec)]

    # Rows come

    def take(self, packets: Sequence[Packet]) -> Iterator[Packet]:
        """Rows come as packets: what was late, or could not be read. Splits are taken in the order of their streams, where they
        have one, as what is late depends on the splits before."""
        for packet in packets:
            if packet.cargo in (Cargo.LATE, Cargo.DEAD):
                yield Packet(OUTSIDE, self._shard, packet.cargo, packet.name, -1, packet.order, packet.body)
        self._clocks.resume({packet.name for packet in packets if packet.cargo is Cargo.SPLIT})
        changed = {packet.name for packet in packets if packet.cargo is Cargo.ROWS}
        changes = {spec: self._clocks.change_of(spec) for spec in self.intakes if spec.is_table and spec.stream in changed}
        by_order: dict[tuple[str, int], list[Packet]] = {}
        unread: dict[str, list[dict[str, Any]]] = {}
        for packet in packets:
            if packet.cargo in (Cargo.SPLIT, Cargo.ROWS) and packet.name in self._clocks.streams:
                order = packet.order if self._job.stream(packet.name).is_in_order else 0
                by_order.setdefault((packet.name, order), []).append(packet)
            elif packet.cargo is Cargo.SPLIT:
                unread.setdefault(packet.name, []).append(packet.told())
        for name, told in unread.items():
            self._clocks.unread_splits(name, told)
        for (name, _), group in sorted(by_order.items()):
            limits = self._clocks.take(name, [(packet.order, packet.told()) for packet in group if packet.cargo is Cargo.SPLIT])
            for packet in group:
                if packet.cargo is Cargo.ROWS:
                    yield from self._take_split(packet, limits, changes)

    def in_one_order(self, lost: list[Packet]) -> list[Packet]:
        """What was late, or could not be read, of all that a step took, however its packets came."""
        if self._unordered and any(packet.cargo in LOST for packet in lost):
            return list(by_full_row(lost, self._unordered))
        return lost

    def put(self, stream: str, came: Came) -> Moved:
        """Rows of one stream come as lanes with their times, none of them late; what they may move."""
        self._clocks.came(stream, came.first, came.greatest)
        moved = self._moved.get(stream) or self._find_moved(stream)
        for intake in moved.entered:
            intake.put(came.delta, is_in_order=came.is_in_order)
        return moved

    def seed(self, packet: Packet) -> None:
        """Rows of a table come that was not read before."""
        self._by_number[packet.port].seed(packet.batch())

    def _find_moved(self, stream: str) -> Moved:
        """Ports in whose time a stream is; and its own."""
        together = {name for time in self._job.times if stream in time for name in time} | {stream}
        specs = [spec for spec in self.intakes if self._is_moved(spec, stream, together)]
        specs += [port.spec for port in self._times if stream in port.spec.timed_by]
        readers = {spec: tuple(port for port in self._read if port.base is spec) for spec in specs}
        intakes = [(spec, self.intakes[spec]) for spec in specs if spec in self.intakes]
        entered = [intake for spec, intake in intakes if spec.stream == stream]
        moved = self._moved[stream] = Moved(entered, intakes, list(readers.items()))
        return moved

    def _is_moved(self, port: PortSpec, stream: str, together: set[str]) -> bool:
        if port.is_table or port.stamped_by:
            return stream == port.stream or stream in (port.stamped_by or port.timed_by)
        return port.stream in together

    def _take_split(self, packet: Packet, limits: Limits, changes: Mapping[PortSpec, int]) -> Iterator[Packet]:
        intake = self._by_number.get(packet.port)
        if intake is None:
            return  # its last reader has been dropped
        rows = packet.batch()
        below = limits.of(packet.order, rows)
        late = intake.take(rows, below, changes.get(intake.port.spec, BEGINNING))
        # A stream with several ports has every row several times; the first port speaks of it.
        if late.num_rows and packet.port == self._job.ports_of(packet.name)[0].number:
            yield Packet(OUTSIDE, self._shard, Cargo.LATE, packet.name, -1, packet.order, late)
            yield late_rows(packet.name, late.num_rows, *intake.late_example(rows, below))

    # What the graph reads

    def feeds(self, packets: Sequence[Packet]) -> dict[PortSpec, Feed]:
        """What is new at all ports; what other levels sent is among these packets."""
        feeds = {spec: self._feed(spec) for spec in [*self.intakes, *(port.spec for port in self._times)]}
        for port in self._arrivals:
            feeds[port.spec] = receive(port.spec, [p for p in packets if p.port == port.number], self._interner)
        return _named(self._read, feeds)

    def feeds_of(self, moved: Moved) -> dict[PortSpec, Feed]:
        """What is new at the ports that rows may have moved."""
        feeds: dict[PortSpec, Feed] = {}
        for spec, readers in moved.ports:
            feed = self._feed(spec)
            for reader in readers:
                feeds[reader] = feed
        return feeds

    def remembered(self, ports: set[PortSpec]) -> dict[PortSpec, Feed]:
        """What a view that comes now would have seen at these ports."""
        read = [(spec, self.intakes[spec]) for spec in {port.base for port in ports} if spec in self.intakes]
        feeds = {spec: intake.remembered(self._clocks.of(spec)) for spec, intake in read}
        feeds |= {port.spec: Feed(Delta.empty(port.spec.layout.width), BEGINNING) for port in self._arrivals}
        feeds |= {port.spec: self._feed(port.spec) for port in self._times}
        return _named(ports, feeds)

    def _feed(self, spec: PortSpec) -> Feed:
        """What is new at a port: rows that are due, and the clock."""
        intake = self.intakes.get(spec)
        if intake is None:
            return Feed(Delta.empty(spec.layout.width), self._clocks.of(spec))
        if isinstance(intake, LatentIntake):
            intake.stamp(self._clocks.final_before(spec.stamped_by or ()))
        return intake.feed(self._clocks.of(spec))

    # What is remembered

    def remember(self, specs: Iterable[Spec]) -> None:
        """Keep as much of the past as these specs, of all levels, look at."""
        wanted = dict.fromkeys(specs)
        if wanted.keys() >= self._remembered.keys():
            self.remember_too([spec for spec in wanted if spec not in self._remembered])
            return
        self._remembered = wanted
        for port, reach in kept_for(wanted).items():
            if port in self.intakes:
                self.intakes[port].kept = reach

    def remember_too(self, more: Sequence[Spec]) -> None:
        """Keep what these look at, too."""
        self._remembered |= dict.fromkeys(more)
        for port, reach in kept_for(more).items():
            if port in self.intakes:
                self.intakes[port].kept = self.intakes[port].kept.joined(reach)

    @property
    def remembers(self) -> bool:
        """Whether what is here is for somebody; if not, it may be for those who come."""
        return bool(self._remembered)

    def needs(self, spec: Spec) -> Lookbacks:
        """What a spec looks at here; where all rows go to the first shard, the others have nothing to say."""
        return {port: reach for port, reach in lookbacks(spec).items() if port.key or self._shard == 0}

    def forget(self, intakes: Iterable[tuple[PortSpec, Intake]] | None = None, *, at_once: bool = False) -> None:
        """What no window of a view holds, of all ports or of some: where much has come since somebody last looked, or at once."""
        some = self.intakes.items() if intakes is None else intakes
        grown = [(spec, intake) for spec, intake in some if at_once or intake.has_grown]
        if not grown:
            return
        clock = self._clocks.least if self._clocks.is_any_moving else FOREVER
        for spec, intake in grown:
            is_told = spec.is_table and not any(spec.timed_by)
            intake.forget(self._clocks.final_before(spec.timed_by) if is_told else clock)

    def _intake(self, port: Port) -> Intake:
        assert port.stream is not None
        scope = self._arena.scope("ports").scope(port.spec.fingerprint)
        with self._interner.owned(f"ports/{port.spec.fingerprint}"):
            stream = self._job.stream(port.stream)
            return _kind_of_intake(port, stream)(
                port, stream, self._clocks[port.stream], scope, self._interner, remembers=self._job.remembers
            )


def _kind_of_intake(port: Port, stream: StreamSpec) -> type[Intake]:
    if port.spec.stamped_by:
        return LatentIntake
    if stream.position is not None:
        return PlacedIntake
    return UnitIntake if stream.is_unit else Intake


def _named(ports: Iterable[PortSpec], feeds: Mapping[PortSpec, Feed]) -> dict[PortSpec, Feed]:
    """The feeds under the names of all ports that read them."""
    return {spec: feeds[spec.base] for spec in ports if spec.base in feeds}
