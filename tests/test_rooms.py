"""What the pages for readers of the code name is there: files, folders, functions, the order of imports."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from test_layers import ORDER

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sash"
PAGES = ("architecture.md", "how-to-add.md")
BESIDE = ("benchmarks", "experiments")  # rooms beside the product


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@cache
def names() -> frozenset[str]:
    """All that is called something in the source, and all words of its texts: SQL is spelled there."""
    found = set[str]()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"\w+", node.value.upper()))
    return frozenset(found)


def is_there(path: str) -> bool:
    return any((place / path).exists() for place in (SOURCE, ROOT, ROOT / "docs"))


def missing(text: str) -> list[str]:
    """Of what stands in backticks: paths that lead nowhere, and words that are no names."""
    found = []
    for span in re.findall(r"`([^`\n]+)`", text):
        if "<" in span or " " in span:
            continue  # a place for a name, or a sentence of SQL
        if "/" in span or span.endswith((".py", ".md")):
            found += [] if is_there(span.removeprefix("sash/")) else [span]
        elif span.isidentifier() and span not in names():
            found.append(span)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_names_is_there(name: str) -> None:
    assert not missing(page(name))


def test_what_is_not_there_is_found() -> None:
    assert missing("`plan/nodes.py` `plan/nowhere.py` `rebuild` `no_such_walk` `operators/<family>/spec.py`") == ["plan/nowhere.py", "no_such_walk"]


def rooms() -> str:
    """The list of folders, each at the beginning of a line."""
    return page("architecture.md").split("## The rooms")[1].split("A **spec")[0]


def test_every_room_is_in_the_list() -> None:
    named = {name for line in rooms().splitlines() for name in re.findall(r"^    ([a-z/, ]+?)/ ", line)}
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert {name for names in named for name in names.split("/, ")} - set(BESIDE) == folders - {"scalar"}  # a registry, with a page of its own


def test_every_family_of_operators_is_in_the_list() -> None:
    told = re.search(r"one folder a family: (.*?)\n\s+spec\.py", rooms(), re.DOTALL)
    assert told is not None
    families = {path.name for path in (SOURCE / "operators").iterdir() if (path / "__init__.py").exists()}
    assert set(re.findall(r"\w+", told[1])) == families


def test_imports_are_told_in_their_order() -> None:
    told = page("architecture.md").split("`tests/test_layers.py` holds us to it.")[1]
    listed = [name for line in told.splitlines() if line.startswith("    ") for name in line.strip().split("  ")[0].split(", ")]
    known = [name for name in ORDER if name in listed]
    assert listed == known and {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} <= set(listed)
