"""The law of isolation on several shards, through restarts: a view's changelog in company is the one that it has alone."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_law import cell
from without_spark import connected

from sash.spark import planner, running_job

sys.path.append(str(Path(__file__).parents[1] / "properties"))

from company import Company, companies, instant
from test_random_queries import examples

pytestmark = pytest.mark.laws


class Run:
    """Some views of a company, on a host without a JVM."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, company: Company, names: Sequence[str], seed: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.patch, self.folder, self.company, self.chance = patch, folder, company, random.Random(seed)
        self.now = instant(3)
        patch.setattr(planner, "time", SimpleNamespace(time_ns=lambda: self.now * 1000, monotonic=lambda: 0.0))
        patch.setattr(running_job, "LOOK_EVERY", 0.0)
        patch.setattr(running_job, "MARGIN", 0.0)
        self.shards, self.names = self.chance.choice([1, 2, 3]), names
        self.sql = "\n".join([_with_files(company), *company.statements(names)])
        for stream in company.streams:
            (folder / stream.name).mkdir(parents=True)
        self.db = connected(patch, folder, self.sql, self.shards)
        self.db.start()

    def play(self) -> Run:
        for place, event in enumerate(self.company.events):
            if event.statement:
                self.db.execute(event.statement)
            elif event.advance is not None:
                self.db.advance(instant(event.advance))
            else:
                lines = (",".join(map(cell, row)) + "\n" for row in event.rows)
                (self.folder / event.stream / f"{place:03d}.csv").write_text("".join(lines))
            if not event.statement or self.chance.random() < 0.5:  # several statements may share a batch
                self.db.drain()
            self.now += 700_000
            if self.chance.random() < 0.1:
                self.db.drain()
                self.db.close()
                self.db = connected(self.patch, self.folder, self.sql, self.shards)
                self.db.start()
        self.db.drain()
        self.db.stop()
        self.db.run()
        return self

    def changes(self, name: str) -> list[str]:
        return sorted(map(repr, pq.read_table(self.folder / f"out/{name}.changes.parquet").to_pylist()))

    def close(self) -> None:
        self.db.close()


def _with_files(company: Company) -> str:
    lines = []
    for line, stream in zip(company.declarations.splitlines(), company.streams, strict=True):
        files = f" WITH (format = 'csv', path = '{stream.name}', nullvalue = '-');"
        lines.append(line if stream.is_table else line.removesuffix(";") + files)
    return "\n".join(lines)


@examples(4)
@given(company=companies(views=3), seed=st.integers(0, 1 << 30))
def test_a_view_in_company_is_as_if_alone_on_shards(
    tmp_path_factory: pytest.TempPathFactory, company: Company, seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "isolation"
    with pytest.MonkeyPatch.context() as patch:
        whole = Run(patch, folder / "whole", company, list(company.views), seed).play()
        for name in company.materialized:
            alone = Run(patch, folder / "alone", company, company.needed(name), seed).play()
            assert alone.changes(name) == whole.changes(name), name
            assert alone.db.view(name).to_arrow().equals(whole.db.view(name).to_arrow()), name
            alone.close()
        whole.close()
