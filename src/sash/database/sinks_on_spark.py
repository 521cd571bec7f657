"""Sinks of a job on Spark: a thread of the driver writes what batches have put on record."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from sash.database.sinks import ActiveSink
from sash.database.tables_on_spark import TablesOnSpark
from sash.errors import SashError, SinkWarning, warn
from sash.sinks.make import make_sink
from sash.sinks.options import Mode, sink_spec
from sash.sinks.runner import Runner
from sash.sql.catalog import SinkDefinition

PATIENCE = 60.0  # seconds that a batch waits for a sink whose changes are not kept for ever


class SinksOnSpark(TablesOnSpark):
    """A database whose views are written elsewhere."""

    def _sink_created(self, sink: SinkDefinition) -> None:
        """It is written while the job runs; whose the table is, is seen then: the run is the checkpoint."""
        spec = sink_spec(sink, self._view(sink.view).plan)
        place = make_sink(sink.kind, spec, self.base, None)
        self.sinks.check_place(place)
        place.check()
        self.sinks.add(ActiveSink(sink, spec, place))
        if self._host is not None and self._host.is_running:
            self._begin_sinks()

    def _sink_dropped(self, name: str) -> None:
        with self.sinks.lock:
            gone = self.sinks.active.pop(name)
        if gone.runner is not None:
            gone.runner.stop(wait=True)
            try:
                gone.sink.release()
            except SashError as error:
                told = f'who creates sink "{gone.spec.name}" again goes on where it was: {error}'
                warn(told, SinkWarning)

    def _begin_sinks(self) -> None:
        """Let those write that do not; for this checkpoint, and for this driver of it. No turn is needed: a batch calls this, and
        who has the turn may wait for a batch."""
        host = self._running()
        with self.sinks.lock:
            idle = [one for one in self.sinks.active.values() if one.runner is None or one.runner.is_stopped]
            if not idle:
                return
            run, epoch = host.run
            for one in idle:
                # Another view of the name is another run.
                query = hashlib.sha256(self._view(one.spec.view).sql.encode()).hexdigest()
                whose = f"checkpoint {run} {one.spec.name} {query[:16]}"
                sink = make_sink(one.definition.kind, one.spec, self.base, whose, epoch)
                feed = host.sink_feed(one.spec.view)
                self.sinks.add(replace(one, sink=sink, feed=feed, runner=Runner(one.spec.name, feed, sink)))

    def _wait_for_sinks(self, batch: int) -> None:
        """A batch is on record. Where its changes may be dropped before a sink has written them, it waits for the sink."""
        self._begin_sinks()
        for one in list(self.sinks.active.values()):
            if one.runner is not None and one.spec.mode is Mode.CHANGES and not self._running().keeps_all(one.spec.view):
                one.runner.drain_patiently(PATIENCE)

    def _drain_sinks(self) -> None:
        if self.sinks.active:
            self._begin_sinks()
            self.sinks.drain()
