"""The guide for who comes from Structured Streaming: every section runs, over the rows of the page, and shows the answer that it says.

To write the answers anew: SASH_WRITE_DOCS=1 pytest tests/test_guide.py
"""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

import sash

PAGE = Path(__file__).parent.parent / "docs" / "coming-from-structured-streaming.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
CREATED = re.compile(r"MATERIALIZED VIEW (\w+)")
INTRODUCTION, *SECTIONS = re.split(r"(?m)^(?=## )", PAGE.read_text(encoding="utf-8"))
RUN = [section for section in SECTIONS if BLOCK.search(section)]


def push_rows(db: sash.Database, text: str) -> None:
    for name, *values in csv.reader(text.splitlines()):
        db.push(name, [[*values[:-1], int(values[-1])]])


def answer(section: str, printed: pytest.CaptureFixture[str]) -> str:
    """What is printed after the rows have come; if nothing is, the last view."""
    (_, declared), (_, rows) = BLOCK.findall(INTRODUCTION)
    blocks = [(kind, text) for kind, text in BLOCK.findall(section) if kind != "text"]
    last = max(place for place, (kind, _) in enumerate(blocks) if kind == "sql")
    with sash.connect(history="all") as db:
        db.execute(declared)
        names = {"db": db, "sash": sash}
        for place, (kind, text) in enumerate(blocks):
            db.execute(text) if kind == "sql" else exec(text, names)
            if place == last:
                push_rows(db, rows)
        return printed.readouterr().out or f"{db.view(CREATED.findall(blocks[last][1])[-1])}\n"


@pytest.mark.parametrize("section", RUN, ids=[section.split("\n")[0].removeprefix("## ")[:40] for section in RUN])
def test_a_section_shows_its_answer(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(section, capsys)
    ((kind, said),) = [block for block in BLOCK.findall(section) if block[0] == "text"]
    if os.environ.get("SASH_WRITE_DOCS"):
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.replace(section, section.replace(f"```{kind}\n{said}```", f"```{kind}\n{found}```")))
        return
    assert found == said


def test_there_are_at_least_fifteen() -> None:
    assert len(RUN) >= 15
