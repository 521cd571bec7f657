"""The facade on Spark: the statements of a session, run as one streaming query.

    db = sash.connect(spark, checkpoint="…", output="…")
    db.execute("CREATE STREAM …; CREATE MATERIALIZED VIEW v AS …")
    db.stream("conn", streaming_df)          # any streaming DataFrame; files are read by their path
    db.start()                               # or db.run(), to the end of bounded input
    db.view("v"); db.changes("v")            # the live answer; a streaming DataFrame
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sash.declare import Declarations
from sash.errors import SashError
from sash.runtime.progress import Progress
from sash.session import Answer, parse_instant
from sash.spark.host import SparkHost
from sash.sql.binder.changes import DeleteRows, InsertRows, UpdateRows
from sash.sql.catalog import ViewDefinition
from sash.sql.statements import Advance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE_FORMATS = ("csv", "json", "parquet")


class SparkDatabase(Declarations):
    """Views on a SparkSession. They are fixed when it starts."""

    def __init__(
        self, spark: SparkSession | Callable[[], SparkSession], *, checkpoint: Path | str | None = None,
        output: Path | str | None = None, shards: int | None = None, batch_rows: int | None = None,
        base: Path | None = None, expiry: str = "auto", until: int | None = None, flush: bool = True,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        super().__init__(base or Path.cwd(), expiry)
        self._spark = spark
        self._frames: dict[str, DataFrame] = {}
        self._host: SparkHost | None = None
        self._shards = shards
        self._options = {
            "checkpoint": checkpoint, "output": output, "batch_rows": batch_rows, "until": until, "flush": flush,
            "on_progress": on_progress,
        }

    def stream(self, name: str, frame: DataFrame) -> None:
        """Let a declared stream read a streaming DataFrame, whose columns have the declared names."""
        self._not_started("a stream cannot be connected")
        self._frames[self._stream(name).name] = frame

    def run(self) -> None:
        """Read what is there to its end and make everything up to it final."""
        self._started().run_to_end()

    @property
    def is_finished(self) -> bool:
        """Whether the checkpoint has seen the end of its input."""
        return self._started().is_finished

    def start(self) -> None:
        """Run in the background until `stop`."""
        self._started().start()

    def drain(self) -> None:
        """Wait until all that is there now is answered."""
        self._started().drain()

    def stop(self) -> None:
        if self._host is not None:
            self._host.stop()

    def close(self) -> None:
        if self._host is not None:
            self._host.close()

    def advance(self, to: str | int) -> None:
        """Time moves to an instant without data."""
        host = self._started()
        host.advance(to if isinstance(to, int) else parse_instant(to, host.progress.event_time or 0))

    def write_answers(self) -> None:
        """Write the answer of every view into the output folder."""
        self._started().write_final()

    def view(self, name: str) -> Answer:
        """The live answer."""
        return Answer(self._started().view(self._kept_view(name)))

    def changes(self, name: str) -> DataFrame:
        """The changes of a view as a streaming DataFrame: _op, _ts, then its columns."""
        return self._started().changes(self._kept_view(name))

    def _started(self) -> SparkHost:
        """The host; from the first call on, the views are fixed."""
        if self._host is None:
            if not self.materialized():
                raise SashError("there is no materialized view to run", "execute CREATE MATERIALIZED VIEW … first")
            spark = self._spark() if callable(self._spark) else self._spark
            job = self.planned(self._shards or spark.sparkContext.defaultParallelism)
            frames = self._frames | self._loaded(spark, {stream.name for stream in job.streams})
            self._host = SparkHost(spark, job, self.base, frames=frames, **self._options)  # type: ignore[arg-type]
        return self._host

    def _loaded(self, spark: SparkSession, names: set[str]) -> dict[str, DataFrame]:
        """Streams of any format that Spark knows and Sash does not read itself."""
        frames = {}
        for stream in self.catalog.streams.values():
            if stream.name not in names or stream.name in self._frames:
                continue
            form = stream.option("format")
            if form is None and stream.option("path") is None:
                raise SashError(
                    f'stream "{stream.name}" has no source',
                    "add WITH (format = …, path = …), or connect a DataFrame with stream()",
                )
            if form is not None and form.lower() not in FILE_FORMATS:
                options = {key: value for key, value in stream.options if key != "format"}
                frames[stream.name] = spark.readStream.format(form).options(**options).load()
        return frames

    def _view_created(self, view: ViewDefinition) -> None:
        self._not_started("the views cannot change")

    def _view_dropped(self, name: str, *, is_replaced: bool = False) -> None:
        self._not_started("the views cannot change")

    def complete_since(self, name: str) -> datetime | None:
        return None

    def _not_started(self, what: str) -> None:
        if self._host is not None:
            raise SashError(f"{what} while the job runs", "declare everything before start() or run()")

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        raise SashError(
            "rows are not inserted, updated or deleted by statements on Spark yet", "put them into the files of the source"
        )

    def _advance(self, statement: Advance) -> None:
        self.advance(statement.time)
