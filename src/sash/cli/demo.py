"""`sash demo`: a million made-up connections, three continuous queries, their answers as they change."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sash.cli.first_time import Play, told_of_compiling
from sash.cli.job_file import load
from sash.cli.report import instant_text, line, summary
from sash.database.answer import Answer
from sash.database.embedded import EmbeddedDatabase
from sash.generate import TRAFFIC_VIEWS, generate
from sash.runtime.progress import Progress
from sash.warm import play_shards

BATCHES = 20
FEW = 10_000  # rows that call all kernels of a query
SHOWN = 5  # rows of every answer
EVERY = 4.0  # seconds between two pictures where there is no terminal

ORDER = {"talkers": "connections", "links": "connections", "suspects": "times"}


class Stage:
    """Shows the answers: in place on a terminal, else now and then."""

    def __init__(self, console: Console, view: Callable[[str], Answer]) -> None:
        self._console = console
        self._view = view
        self._live = Live(console=console, auto_refresh=False, transient=False) if console.is_terminal else None
        self._shown = 0.0
        self.longest = 0.0
        self.last = Progress()
        self.picture: RenderableType = ""

    def __enter__(self) -> Stage:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        self.last = progress
        self.longest = max(self.longest, progress.batch_seconds if progress.batch > 0 else 0.0)
        if progress.is_end:
            return  # the last picture stays: that of the last rows
        tables = [_table(name, self._view(name).to_arrow()) for name in ORDER]
        self.picture = Group(*tables, Text(line(progress)))
        if self._live is not None:
            self._live.update(self.picture, refresh=True)
        elif time.monotonic() - self._shown > EVERY:
            self._shown = time.monotonic()
            self._console.print(self.picture)


def run_demo(rows: int, seed: int, engine: str, record: Path | None) -> None:
    console = Console()
    with tempfile.TemporaryDirectory(prefix="sash-demo-") as folder:
        job = _make_job(Path(folder), rows, seed, console)
        console.print(f"running three continuous queries {'on Spark' if engine == 'spark' else 'in this process'}")
        play = _on_spark if engine == "spark" else _embedded
        with told_of_compiling(lambda text: console.print(text, highlight=False), _plays(seed)):
            stage = play(job, -(-rows // BATCHES), console)
    _figures(console, stage)
    if record is not None:
        paper = Console(record=True, width=84, file=io.StringIO())
        paper.print("$ ./run demo", highlight=False)
        paper.print(stage.picture)
        _figures(paper, stage)
        paper.save_svg(str(record), title="sash demo")


def _plays(seed: int) -> list[Play]:
    """What calls the kernels of the demo: each of its queries over fewer rows, and rows on their way to shards."""
    views = [text for text in TRAFFIC_VIEWS.split(";") if text.strip()]
    return [*((play_view, (view, seed)) for view in views), (play_shards, ())]


def play_view(view: str, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sash-demo-") as name, EmbeddedDatabase(base=Path(name)) as db:
        generate("traffic", FEW, seed, Path(name))
        db.execute((Path(name) / "streams.sql").read_text() + view)
        db.run()


def _make_job(folder: Path, rows: int, seed: int, console: Console) -> Path:
    started = time.monotonic()
    generate("traffic", rows, seed, folder)
    console.print(f"made {rows:,} connections on 4 links in {time.monotonic() - started:.1f} s")
    job = folder / "job.sql"
    job.write_text((folder / "streams.sql").read_text() + TRAFFIC_VIEWS)
    console.print(TRAFFIC_VIEWS.strip(), style="dim", highlight=False)
    return job


def _on_spark(job: Path, batch_rows: int, console: Console) -> Stage:
    from sash.database.on_spark import SparkDatabase
    from sash.spark.session import local_session

    db = SparkDatabase(local_session, batch_rows=batch_rows, base=job.parent, on_progress=lambda p: stage(p))
    stage = Stage(console, db.view)
    load(db, job)
    with stage, db:
        db.run()
    return stage


def _embedded(job: Path, batch_rows: int, console: Console) -> Stage:
    db = EmbeddedDatabase(batch_rows=batch_rows, base=job.parent, on_progress=lambda p: stage(p))
    stage = Stage(console, db.view)
    load(db, job)
    with stage, db:
        db.run()
    return stage


def _table(name: str, answer: pa.Table) -> Table:
    table = Table(title=f"{name}: {answer.num_rows:,} rows", title_justify="left", min_width=60)
    for column in answer.column_names:
        table.add_column(column, justify="left" if pa.types.is_string(answer.schema.field(column).type) else "right")
    top = answer.sort_by([(ORDER[name], "descending")]).slice(0, SHOWN).to_pylist()
    for row in top + [None] * (SHOWN - len(top)):
        table.add_row(*(_text(value) for value in row.values()) if row else [""] * answer.num_columns)
    return table


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figures(console: Console, stage: Stage) -> None:
    last = stage.last
    console.print(summary(last), highlight=False)
    if last.event_time is not None:
        console.print(f"event time reached: {instant_text(last.event_time)}", highlight=False)
    delay = f"delay: an answer is at most one batch behind; the longest batch took {stage.longest:.2f} s"
    console.print(delay, highlight=False)
