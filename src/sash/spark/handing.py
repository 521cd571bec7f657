"""Batches over Spark Connect: what a batch gives to its driver passes through files of the checkpoint.

    Spark's foreachBatch runs in a process of the server        the driver's part of a batch runs in this one
        handed/RUN-7-TRY.told    all packets that came out    ─▶    takes them, as it does in a session of its own
        waits                                                 ◀─    handed/RUN-7-TRY.taken    nothing, or what went wrong

A batch is committed by Spark when it has been taken, so whoever dies, and whenever, it is as in a session of one's own: Spark
runs the batch again, and its tasks give the answers that they have put down.

A task learns the number of its batch from the thread that runs the batch; over Connect another thread runs it, which knows the
configuration of the session alone. So the number is put there, under a name that is the checkpoint's, and a task sees that it is
the batch that Spark has put on record last: of another one it would give the answer that it has put down.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from sash.errors import SashError
from sash.spark.epochs import check_epoch
from sash.spark.offsets import spark_folder
from sash.spark.sealed import SealedFolder

HANDED, TOLD, TAKEN = "handed", ".told", ".taken"
NAME = "{}-{}-{}"  # the run, which is one of a query of Spark's, the batch, and the try: Spark may run a batch again
BATCH_ID = "streaming.sql.batchId"
NEAR, FAR = 0.005, 0.1  # seconds between two looks into a folder on a disk, and into one elsewhere
FENCE = 1.0  # seconds between two looks for another driver


def batch_of(context: TaskContext, checkpoint: SealedFolder) -> int:
    """The batch that a task is of."""
    if (own := context.getLocalProperty(BATCH_ID)) is not None:
        return int(own)
    told = context.getLocalProperty(_key(checkpoint))
    names = spark_folder(checkpoint).child("offsets").names()
    if told is None or int(told) != max((int(name) for name in names if name.isdigit()), default=None):
        raise SashError(f"Spark does not tell a task which batch it is of, but {told}", "use another version of PySpark")
    return int(told)


def _key(checkpoint: SealedFolder) -> str:
    return f"spark.sash.batch.{checkpoint.number}"


@dataclass(frozen=True)
class Handing:
    """What Spark calls with a batch, in a process of the server."""

    checkpoint: SealedFolder
    epoch: int
    run: str

    def __call__(self, packets: DataFrame, batch: int) -> None:
        packets.sparkSession.conf.set(_key(self.checkpoint), str(batch))
        folder, name = self.checkpoint.child(HANDED), NAME.format(self.run, batch, uuid4().hex[:12])
        folder.put(f"{name}{TOLD}", [_bytes(packets.toArrow())], durable=False)
        error = self._answer(folder, f"{name}{TAKEN}")
        if error is not None:
            raise SashError(error)

    def _answer(self, folder: SealedFolder, name: str) -> str | None:
        """What went wrong where the batch was taken; a driver that was replaced takes none."""
        fence = time.monotonic() + FENCE
        while (data := folder.read(name)) is None:
            time.sleep(_pause(folder))
            if time.monotonic() > fence:
                check_epoch(self.checkpoint, self.epoch)
                fence = time.monotonic() + FENCE
        folder.delete(name)
        error: str | None = json.loads(bytes(data))["error"]
        return error


class Handed:
    """The packets of a batch, as the driver meets them."""

    def __init__(self, data: pa.Buffer) -> None:
        self._data = data

    def toArrow(self) -> pa.Table:
        return pa.ipc.open_stream(self._data).read_all()


class Receiver:
    """Takes what is handed over, in a thread of this process, from `begin` to `stop`."""

    def __init__(self, checkpoint: SealedFolder, run: str, take: Callable[[Any, int], None]) -> None:
        self._folder, self._run_name = checkpoint.child(HANDED), f"{run}-"
        self._take = take
        self._newest = -1  # of the batches that were taken
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sash-batches", daemon=True)

    def begin(self) -> None:
        for name in self._folder.names():  # of drivers that are no more
            if not name.startswith(self._run_name):
                self._folder.delete(name)
        self._thread.start()

    def stop(self) -> None:
        self._is_stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        for name in self._mine(""):
            self._folder.delete(name)

    def _mine(self, ending: str) -> list[str]:
        """The files of this run."""
        return [name for name in self._folder.names() if name.startswith(self._run_name) and name.endswith(ending)]

    def _run(self) -> None:
        while not self._is_stopped.wait(_pause(self._folder)):
            with suppress(OSError, SashError):  # a store that does not answer now may do so the next time
                for batch, name in sorted(self._told()):
                    self._receive(batch, name.removesuffix(TOLD))

    def _told(self) -> Iterator[tuple[int, str]]:
        """The batches of this run that were handed over, and their files; what has another name is no batch's."""
        for name in self._mine(TOLD):
            number = name.removeprefix(self._run_name).partition("-")[0]
            if number.isdecimal():
                yield int(number), name

    def _receive(self, batch: int, name: str) -> None:
        if batch >= self._newest:  # else it is of a try that was given up, and that nobody waits for
            self._newest = batch
            error = json.dumps({"error": self._taken(batch, name)}).encode()
            self._say(f"{name}{TAKEN}", error)
        self._folder.delete(f"{name}{TOLD}")

    def _taken(self, batch: int, name: str) -> str | None:
        """What went wrong in taking a batch: it fails with that, there."""
        try:
            self._take(Handed(self._folder.demand(f"{name}{TOLD}")), batch)
        except Exception as failure:
            return str(failure) if isinstance(failure, SashError) else f"{type(failure).__name__}: {failure}"
        return None

    def _say(self, name: str, said: bytes) -> None:
        """Until it is there: somebody waits for it."""
        while not self._is_stopped.is_set():
            try:
                self._folder.put(name, [said], durable=False)
                return
            except (OSError, SashError):
                time.sleep(FAR)


def _pause(folder: SealedFolder) -> float:
    return NEAR if folder.is_local else FAR


def _bytes(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
