"""Nothing that is stored is ever executed: no module loads pickles or evaluates text."""

from __future__ import annotations

import ast
from pathlib import Path

import sash

PACKAGE = Path(next(iter(sash.__path__)))
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "code", "codeop", "runpy"}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {"loads_pickle", "load_pickle", "read_pickle", "to_pickle", "allow_pickle", "unpickle"}
IMPORTERS = {"planner/plan_classes.py"}  # of modules of Sash, by names in its own source


def faults(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            found |= {part for name in names for part in name.split(".") if part in MODULES}
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            found |= {name} & CALLS
            found |= {keyword.arg for keyword in node.keywords if keyword.arg == "allow_pickle"}
            if isinstance(node.func, ast.Attribute) and node.func.attr == "import_module" and str(path.relative_to(PACKAGE)) not in IMPORTERS:
                found.add("import_module")
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & (ATTRIBUTES | {"cloudpickle"})
    return found


def test_no_module_executes_what_is_stored() -> None:
    found = {str(path.relative_to(PACKAGE)): faults(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert not {path: what for path, what in found.items() if what}


def test_the_search_finds_what_it_looks_for(tmp_path: Path, monkeypatch: object) -> None:
    lines = ["import pickle", "from pyspark import cloudpickle", "eval(text)", "np.load(file, allow_pickle=True)", "pd.read_pickle(file)"]
    for line in lines:
        (tmp_path / "x.py").write_text(line)
        assert faults(tmp_path / "x.py"), line
