"""Imports go one way: a module may import what stands after it in this list, never what stands before."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import sash

ORDER = (
    "cli", "shell", "testing", "generate", "database", "serve", "spark", "sinks", "sources", "folders", "runtime", "planner",
    "operators", "stores", "kernels", "sql", "plan", "scalar", "deltas", "schema", "interned", "tree", "deep", "file_names", "turns", "bounds", "interrupts", "numerals", "errors",
)  # fmt: skip

HOME = {"sqlglot": {"sql", "serve", "testing"}, "numba": {"kernels"}, "pyspark": {"spark"}, "duckdb": {"testing", "serve"}, "psycopg": {"sinks", "sources", "shell"}, "confluent_kafka": {"sinks", "sources"}, "fastavro": {"sources"}, "google": {"sources"}}

pytestmark = pytest.mark.xdist_group("layers")  # every file is read once
PACKAGE = Path(next(iter(sash.__path__)))
FILES = sorted(PACKAGE.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def statements(tree: ast.AST, with_typing: bool) -> Iterator[ast.AST]:
    """All statements of a tree; without the bodies of `if TYPE_CHECKING`, which never run."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and (with_typing or not is_typing):
                yield node
                waiting.append(node)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imported_names(path: Path, with_typing: bool) -> tuple[str, ...]:
    return tuple(_imports(path, with_typing))


def imports(path: Path, with_typing: bool = True) -> tuple[str, ...]:
    """The full names of the modules that a file imports, anywhere in it."""
    return _imported_names(path, with_typing)


def _imports(path: Path, with_typing: bool) -> Iterator[str]:
    for node in statements(parsed(path), with_typing):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_layers(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports(path))
    return {part[1] for part in parts if part[0] == "sash" and len(part) > 1} & set(ORDER)


def upward(path: Path) -> set[str]:
    """The layers above its own that a file imports; the package itself, and what runs it from the outside, may import all."""
    own = layer(path)
    return {name for name in imported_layers(path) if own in ORDER and ORDER.index(name) < ORDER.index(own)}


def strangers(path: Path) -> set[str]:
    """The big libraries that a file imports outside their homes."""
    own = layer(path)
    return {name for name in (one.split(".")[0] for one in imports(path, with_typing=False)) if own not in HOME.get(name, {own})}


def offenders(rule: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    return {str(path.relative_to(PACKAGE)): found for path in FILES if (found := rule(path))}


def test_imports_go_down() -> None:
    assert not offenders(upward)


def imported(with_typing: bool, under: str = "sash") -> dict[str, set[str]]:
    """The modules that each module imports, at its top or inside of functions; packages only show what is in them."""
    names = {".".join(("sash", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in FILES}
    files = {name: path for name, path in names.items() if name.startswith(under) and path.name != "__init__.py"}
    return {name: (files.keys() & set(imports(path, with_typing))) - {name} for name, path in files.items()}


def circles(below: dict[str, set[str]]) -> list[set[str]]:
    """The modules that import each other, directly or through others."""
    reaches: dict[str, set[str]] = {}
    for name in below:
        waiting, found = [name], set[str]()
        while waiting:
            new = below[waiting.pop()] - found
            found |= new
            waiting += new
        reaches[name] = found
    together = ({name, *(other for other in found if name in reaches[other])} for name, found in reaches.items() if name in found)
    return [set(one) for one in dict.fromkeys(map(frozenset, together))]


def test_a_circle_is_found() -> None:
    assert circles({"spec": {"operator", "store"}, "operator": {"leaf"}, "leaf": {"spec"}, "store": set()}) == [{"spec", "operator", "leaf"}]


def test_no_modules_import_each_other() -> None:
    """Nor do they inside of functions. What is named for the type checker alone never runs: a spec builds its operator, which
    names the class of its spec, so the two know each other, but only one of them needs the other to run.
    """
    assert not circles(imported(with_typing=False))


def test_modules_of_the_binder_do_not_even_name_each_other() -> None:
    assert not circles(imported(with_typing=True, under="sash.sql"))


def test_libraries_stay_in_their_layer() -> None:
    assert not offenders(strangers)


def test_the_product_imports_nothing_of_what_measures_it() -> None:
    assert not offenders(lambda path: {name for name in imports(path) if name.split(".")[0] in ("benchmarks", "experiments", "tests")})


def test_every_layer_is_in_the_list() -> None:
    entries = {layer(path) for path in FILES} - {"__init__", "__main__", "warm"}
    assert entries <= set(ORDER)


@pytest.mark.parametrize("path", sorted((PACKAGE / "testing").glob("*.py")), ids=lambda path: path.name)
def test_the_oracle_is_independent_of_the_engine(path: Path) -> None:
    assert not imported_layers(path) & {"spark", "runtime", "operators", "stores", "kernels", "planner"}


def test_tests_outside_packages_have_names_of_their_own() -> None:
    """Two files of one name would be one module to pytest."""
    folder = Path(__file__).parent
    files = [path for path in folder.rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    names = [path.name for path in files]
    assert sorted(names) == sorted(set(names))
