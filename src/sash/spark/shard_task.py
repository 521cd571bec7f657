"""Keepers: the answer of a shard to batch N, once and for all, whatever is found.

    arena at N          the stored answer (a retry, or a batch that is evaluated twice)
    arena at N - 1      step; write outputs, then log or snapshot, then answer; commit the arena to N
    anything else       the newest snapshot, or an older arena, then the log up to N - 1; then as above

All of it is a function of the packets, so whoever does it again writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from sash.errors import SashError
from sash.operators.spec import Spec
from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.instants import instants_packet
from sash.runtime.metrics import totals
from sash.runtime.packets import Cargo, Packet, facts_body, told_body
from sash.runtime.packing import CHANGE, CHUNKS
from sash.runtime.shard import Shard
from sash.schema import FOREVER
from sash.spark.arenas import BEFORE_ALL, HeldArena, Meta, arenas_on_this_machine, held
from sash.spark.checkpoint import JOB
from sash.spark.epochs import check_epoch
from sash.spark.jobs import job_at
from sash.spark.kafka import known_partitions
from sash.spark.looking import is_all_final, is_somebody_reading, looked
from sash.spark.moves import place_packet
from sash.spark.offsets import identity_of, offset_of
from sash.spark.outputs import are_there, write_outputs
from sash.spark.sealed import DamagedFile, MissingFile
from sash.spark.settings import Settings
from sash.spark.store import History
from sash.spark.trials import is_trial
from sash.stores.arena import Arena

FIRST, GREATEST = "first of ", "greatest of "  # facts of every stream
LOST = {Cargo.LATE: "late of ", Cargo.DEAD: "dead of "}  # facts of every stream that has such rows
PARTITIONS = "partitions"  # the name of what is told of the clocks of a stream's partitions
METRICS = "metrics"  # the name of what an engine tells about its operators
STAGE = "stage"  # the name of the facts that a keeper adds to those of its engine
LEVELS = "levels"  # a fact of the event that changes the job: how many it had before
LOOKED = "looked"  # a fact: what is not yet final is told too
ARENAS = "arenas"  # the name of what the first shard tells of where it keeps its state
REPLAYED = 32 << 20  # bytes of log that may be gone through by who makes the state again
SHARE = 8  # … or as much as this share of the state, if that is more
SINCE = "complete since "  # a fact for every view that is new


class Engine(Protocol):
    """What a shard runs: its state is in the arena that it was made with."""

    def step(self, packets: list[Packet]) -> list[Packet]: ...

    def change(self, job: Job, packets: list[Packet]) -> list[Packet]: ...

    def complete_since(self, spec: Spec) -> int | None: ...


MakeEngine = Callable[[Job, int, int, Arena], Engine]


@dataclass(frozen=True)
class ShardTask:
    """Answers the batches of one shard of one level."""

    job: Job
    settings: Settings
    make_engine: MakeEngine
    level: int
    shard: int
    code: Code = field(default_factory=dict)  # of the user, that later versions of the job may call

    def answer(self, batch: int, packets: list[Packet], marked: Sequence[Packet] = ()) -> list[Packet]:
        """What the shard says to these packets; outputs are written on the way. Lower levels have `marked` what is not yet final.

        Nothing while the level does not run yet: DataFrames are packed for the newest version of the job in all batches.
        """
        return self._answered(batch, packets, marked)[0]

    def answer_from_here(self, batch: int, packets: list[Packet], marked: Sequence[Packet]) -> list[Packet]:
        """The same, and where it was given, which is on no record."""
        answer, is_rebuilt = self._answered(batch, packets, marked)
        return [*answer, place_packet(self.level, self.shard, self.settings.arenas, is_rebuilt=is_rebuilt)] if answer else []

    def _answered(self, batch: int, packets: list[Packet], marked: Sequence[Packet]) -> tuple[list[Packet], bool]:
        """And whether the state had to be made again for it."""
        if not packets:
            return [], False
        packets = [*packets, *self._known_partitions(batch)]
        with held(self.settings.arenas, self.level, self.shard) as arena_file:
            if not self._runs(arena_file, batch, packets):
                return [], False
            if arena_file.is_whole and arena_file.meta.version >= batch:
                stored = self._history.answer(batch)
                if stored is not None and are_there(self.settings.output, stored):
                    return stored, False
            return self._advance(arena_file, batch, packets, marked)

    def _known_partitions(self, batch: int) -> Iterator[Packet]:
        """What the record of the batch tells of partitions, as events."""
        found = known_partitions(self.settings.checkpoint, batch, self.settings.kafka)
        for place, (one, names) in enumerate(found.items()):
            if names:
                body = told_body({"known": names, "delay": one.delay})
                yield Packet(self.level, self.shard, Cargo.CONTROL, one.stream, -1, place, body)

    def look(self, version: int, marked: Sequence[Packet]) -> list[Packet]:
        """What the shard would say after batch `version` of what is not yet final; neither state nor outputs change."""
        with self._left_at(version) as arena:
            return self._look(arena, marked)

    @contextmanager
    def after(self, version: int) -> Iterator[tuple[Engine, Arena]]:
        """The engine as it is after batch `version`, and a copy of its state, which is gone afterwards."""
        with self._left_at(version) as arena:
            try:
                yield self._engine(arena), arena
            finally:
                arena.close()

    @contextmanager
    def _left_at(self, version: int) -> Iterator[Arena]:
        """A copy of the state after a batch."""
        with held(self.settings.arenas, self.level, self.shard) as arena_file:
            if not arena_file.is_whole or arena_file.meta.version != version:
                self._rebuild(arena_file, version)
            yield arena_file.peek()

    def _look(self, fork: Arena, marked: Sequence[Packet]) -> list[Packet]:
        try:
            engine = self.make_engine(replace(self._job(fork), remembers=False), self.level, self.shard, fork)
            if not isinstance(engine, Shard) or is_all_final(engine):
                return []
            return list(looked(engine, self.level, self.shard, marked))
        finally:
            fork.close()

    @property
    def _history(self) -> History:
        folder = self.settings.layout.folder(self.settings.checkpoint).child(str(self.level), str(self.shard))
        return History(folder, partial(identity_of, self.settings.checkpoint))

    def _advance(
        self, arena_file: HeldArena, batch: int, packets: list[Packet], marked: Sequence[Packet]
    ) -> tuple[list[Packet], bool]:
        if self._is_first(packets):
            self._history.put_snapshot(batch - 1, arena_file.path.with_suffix(".none"), "{}")
        is_found = arena_file.is_whole and arena_file.meta.version == batch - 1
        damage = self._choose_base(arena_file, batch - 1)
        meta = arena_file.meta
        arena = arena_file.open()
        try:
            logged = meta.logged + self._replay(arena, meta.version + 1, batch, damage)
            made = self._step(arena, packets)
            check_epoch(self.settings.checkpoint, self.settings.epoch)
            is_read = is_somebody_reading(self.settings.checkpoint)
            answer = self._outside(made, batch, packets, arena, is_read=is_read)
            if is_read:
                answer += self._look(arena.fork(), marked)
            meta = self._record(arena_file, replace(meta, version=batch, logged=logged), packets, arena)
            self._history.put_answer(batch, answer)
        finally:
            arena.close()
        arena_file.commit(meta)
        return answer, not is_found and batch - 1 > BEFORE_ALL and not self._is_first(packets)

    def _rebuild(self, arena_file: HeldArena, version: int) -> None:
        damage = self._choose_base(arena_file, version)
        meta = arena_file.meta
        arena = arena_file.open()
        logged = meta.logged + self._replay(arena, meta.version + 1, version + 1, damage)
        meta = replace(meta, version=version, contents=arena.describe(), logged=logged)
        arena.close()
        arena_file.commit(meta)

    def _choose_base(self, arena_file: HeldArena, version: int) -> SashError | None:
        """Leave the arena at the newest version, not above this one, that needs the least replay.

        A damaged snapshot that was passed over is told of, should there be no other way.
        """
        own = arena_file.meta.version if arena_file.is_whole and arena_file.meta.version <= version else None
        if own == version:
            return None
        damage: SashError | None = None
        for newest in self._history.snapshots(version):
            if own is not None and own >= newest:
                return damage
            try:
                snapshot = self._history.snapshot(newest)
                arena_file.reset(Meta())
                own = None
                contents = self._history.restore(newest, snapshot, arena_file.path)
            except (DamagedFile, MissingFile) as error:  # an older one may do as well, if the log goes so far
                damage = damage or error
                continue
            arena_file.commit(Meta(newest, contents, snapshot=newest))
            return damage
        if own is None:
            arena_file.reset(Meta())
        return damage

    def _step(self, arena: Arena, packets: list[Packet]) -> list[Packet]:
        """A step; the one in which the job changes makes another engine of the one that was."""
        engine, new = self._engine(arena), _told(packets, JOB)
        if new is None:
            return self._stepped(engine, packets)
        before, job = self._job(arena), job_at(self.settings.checkpoint, new, self.job, self.code)
        had = {port.number for port in before.ports}
        rows = [packet for packet in packets if packet.cargo is Cargo.ROWS and packet.order >= CHANGE * CHUNKS]
        seeds = [packet for packet in rows if packet.port not in had]  # other ports of the same tables have them
        out = engine.change(job, seeds + [packet for packet in packets if packet.cargo is Cargo.CONTROL])
        arena.array("job", (1,))[0] = new
        out += self._stepped(engine, [packet for packet in packets if packet not in rows])
        return [*out, *self._completeness(engine, before, job)]

    def _completeness(self, engine: Engine, before: Job, job: Job) -> Iterator[Packet]:
        """From when on new views are complete; every shard of every level knows of its own rows."""
        found = {view.name: engine.complete_since(view.spec) for view in job.views if view not in before.views}
        facts = {f"{SINCE}{name}": FOREVER if since is None else since for name, since in found.items()}
        if facts:
            yield Packet(0, self.shard, Cargo.FACTS, STAGE, -1, self.shard, facts_body(dict(facts)))

    def _runs(self, arena_file: HeldArena, batch: int, packets: list[Packet]) -> bool:
        """Whether the job has this level by now."""
        is_old = self.level <= self.job.levels or arena_file.meta.version > BEFORE_ALL
        return is_old or self._is_first(packets) or self._history.has_begun or self.level <= self._levels_before(batch)

    def _levels_before(self, batch: int) -> int:
        """How many levels the job had in the batch before, by Spark's record: a shard may have lost all of its own."""
        offset = offset_of(self.settings.checkpoint, batch - 1)
        return 0 if offset is None else job_at(self.settings.checkpoint, offset.job, self.job, None).levels

    def _is_first(self, packets: list[Packet]) -> bool:
        """Whether the job gets this level only now."""
        levels = _told(packets, LEVELS)
        return levels is not None and self.level > levels

    def _job(self, arena: Arena) -> Job:
        return job_at(self.settings.checkpoint, int(arena.array("job", (1,))[0]), self.job, self.code)

    def _engine(self, arena: Arena) -> Engine:
        return self.make_engine(self._job(arena), self.level, self.shard, arena)

    def _stepped(self, engine: Engine, packets: list[Packet]) -> list[Packet]:
        """What an engine says, and what it has to tell about how it came to it."""
        made = engine.step(packets)
        if isinstance(engine, Shard):
            changes: dict[str, int] = {}
            for packet in made:
                if packet.cargo is Cargo.CHANGES:
                    changes[packet.name] = changes.get(packet.name, 0) + packet.batch().num_rows
            operators = engine.metrics()
            told = {"operators": operators, "changes": changes, "early": engine.graph.early_counts()}
            body = told_body(told | {"failures": engine.failures.items()})
            facts = facts_body(totals(operators) | {"failures": engine.failures.total})
            made = [
                *made,
                Packet(0, self.shard, Cargo.FACTS, METRICS, self.level, self.shard, body),
                Packet(0, self.shard, Cargo.FACTS, STAGE, -1, self.shard, facts),
                *(self._times(engine, packets) if self.level == 1 and self.shard == 0 else ()),
            ]
        return made

    def _times(self, engine: Shard, packets: list[Packet]) -> Iterator[Packet]:
        """At which instants the answers are, and where the state is. Who watches silent streams wants to know the clocks of
        partitions, and which of them had rows."""
        yield instants_packet(self.shard, engine.clocks.instants())
        body = told_body({ARENAS: str(arenas_on_this_machine(self.settings.arenas))})
        yield Packet(0, self.shard, Cargo.FACTS, ARENAS, -1, self.shard, body)
        for stream, clocks in engine.partitions.items():
            splits = [packet.told() for packet in packets if packet.cargo is Cargo.SPLIT and packet.name == stream]
            heard = sorted({name for facts in splits for name in facts.get("partitions", ())})
            body = told_body({"stream": stream, "clocks": clocks, "heard": heard})
            yield Packet(0, self.shard, Cargo.FACTS, PARTITIONS, -1, self.shard, body)

    def _replay(self, arena: Arena, first: int, batch: int, damage: SashError | None) -> int:
        """Steps over the log of the batches before this one, their answers long given; the bytes replayed."""
        size = 0
        for number in range(first, batch):
            packets = self._history.log(number)
            if packets is None:
                raise damage or SashError(
                    f"the checkpoint {self.settings.checkpoint.place} has no record of batch {number}"
                    f" for shard {self.shard} of level {self.level}",
                    "if another run has gone on with it, connect again; else begin with a new checkpoint folder",
                )
            self._step(arena, packets)
            size += _size(packets)
        return size

    def _record(self, arena_file: HeldArena, meta: Meta, packets: list[Packet], arena: Arena) -> Meta:
        """Make the batch durable: a snapshot when that is less to write, or is due; else the log."""
        meta = replace(meta, contents=arena.describe(), logged=meta.logged + _size(packets))
        is_old = meta.version - meta.snapshot >= self.settings.snapshot_every
        is_due = is_old or meta.logged >= max(REPLAYED, arena.size // SHARE)
        if meta.logged < arena.size:
            self._history.put_log(meta.version, packets)  # also beside a snapshot that is due: one of the two may be lost
            if not is_due:
                return meta
        before = None if meta.snapshot == BEFORE_ALL else meta.snapshot
        self._history.put_snapshot(meta.version, arena_file.path, meta.contents, before)
        self._history.forget(meta.version - self.settings.retain)
        return replace(meta, snapshot=meta.version, logged=0)

    def _outside(
        self, made: list[Packet], batch: int, packets: list[Packet], arena: Arena, *, is_read: bool
    ) -> list[Packet]:
        """Write what is for the outside; keep the rest, and add the facts of this step."""
        told = [packet for packet in made if packet.cargo is not Cargo.CHANGES or not is_trial(packet.name)]
        written = write_outputs(self.settings.output, batch, self.shard, told, self._job(arena).twins)
        facts = written.facts() | _lost(told) | {"state": arena.used, JOB: int(arena.array("job", (1,))[0])}
        if is_read:
            facts[LOOKED] = 1
        if self.level == 1 and self.shard == 0:
            facts |= _input_facts(packets)
        report = Packet(0, self.shard, Cargo.FACTS, STAGE, -1, self.shard, facts_body(facts))
        return [*written.rest, *written.told(self.shard), report]


def _told(packets: list[Packet], name: str) -> int | None:
    """What a control event says."""
    facts = (packet.facts() for packet in packets if packet.cargo is Cargo.CONTROL)
    return next((fact[name] for fact in facts if name in fact), None)


def _lost(packets: list[Packet]) -> dict[str, int | None]:
    """Rows of every stream that were late, or could not be read."""
    facts: dict[str, int | None] = {}
    for packet in packets:
        if packet.cargo in LOST:
            name = f"{LOST[packet.cargo]}{packet.name}"
            facts[name] = (facts.get(name) or 0) + packet.batch().num_rows
    return facts


def _size(packets: list[Packet]) -> int:
    return sum(len(packet.body) for packet in packets)


def _input_facts(packets: list[Packet]) -> dict[str, int | None]:
    """Rows that came in, and the greatest timestamp of every stream; every shard knows, one tells."""
    greatest: dict[str, int] = {}
    first: dict[str, int] = {}
    rows = 0
    for packet in packets:
        if packet.cargo is Cargo.SPLIT:
            facts = packet.facts()
            rows += facts["rows"] or 0
            if facts["greatest"] is not None:
                greatest[packet.name] = max(facts["greatest"], greatest.get(packet.name, facts["greatest"]))
            if (least := facts.get("first")) is not None:
                first[packet.name] = min(least, first.get(packet.name, least))
    is_end = any(packet.cargo is Cargo.CONTROL and packet.facts().get("end") for packet in packets)
    by_stream = {f"{GREATEST}{name}": ts for name, ts in greatest.items()} | {f"{FIRST}{name}": ts for name, ts in first.items()}
    return {"rows": rows, "greatest": max(greatest.values(), default=None), "end": int(is_end), **by_stream}
