"""Batches over Spark Connect: what a batch gives to its driver passes through files of the checkpoint.

    Spark's foreachBatch runs in a process of the server        the driver's part of a batch runs in this one
        handed/RUN-7.told    all packets that came out    ─▶    takes them, as it does in a session of its own
        waits                                             ◀─    handed/RUN-7.taken    nothing, or what went wrong

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from sash.errors import SashError
from sash.spark.epochs import check_epoch
from sash.spark.offsets import spark_folder
from sash.spark.sealed import SealedFolder

HANDED, TOLD, TAKEN = "handed", ".told", ".taken"
FILE = "{}-{}{}"  # the run, which is one of a query of Spark's, the batch, and which of the two
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
        folder, taken = self.checkpoint.child(HANDED), FILE.format(self.run, batch, TAKEN)
        folder.delete(taken)  # of an earlier try
        folder.put(FILE.format(self.run, batch, TOLD), [_bytes(packets.toArrow())], durable=False)
        error = self._answer(folder, taken)
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
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sash-batches", daemon=True)

    def begin(self) -> None:
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
            for name in self._mine(TOLD):
                self._receive(name.removesuffix(TOLD))

    def _receive(self, name: str) -> None:
        error = None
        try:
            data = self._folder.demand(f"{name}{TOLD}")
            self._folder.delete(f"{name}{TOLD}")
            self._take(Handed(data), int(name.removeprefix(self._run_name)))
        except Exception as failure:  # the batch fails with it, there
            error = str(failure) if isinstance(failure, SashError) else f"{type(failure).__name__}: {failure}"
        self._folder.put(f"{name}{TAKEN}", [json.dumps({"error": error}).encode()], durable=False)


def _pause(folder: SealedFolder) -> float:
    return NEAR if folder.is_local else FAR


def _bytes(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
