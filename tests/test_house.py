"""How the house is built: which way imports point, and how large a folder, a module and a list of parameters may be.

CONTRIBUTING.md draws the floors.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from support.checkout import REPOSITORY

PACKAGES = {
    "distriage": REPOSITORY / "src" / "distriage",
    "distriage_serving": REPOSITORY / "serving" / "distriage_serving",
    "distriage_training": REPOSITORY / "training" / "distriage_training",
    "distriage_research": REPOSITORY / "training" / "research" / "distriage_research",
}
# Each may import what is further right, and nothing beside it.
FLOORS = {
    "distriage": [
        {"__main__"},
        {"commands"},
        {"agents"},
        {"past"},
        {"engine", "second_reader"},
        {"classifier"},
        {"answer", "reports"},
        {"signs"},
        {"own", "reading"},
        {"facts", "github", "model"},
        {"recipe"},
        {"segments"},
        {"base"},
    ],
    "distriage_serving": [
        {"commands"},
        {"server"},
        {"app"},
        {"backfill", "demo", "webhook"},
        {"queue", "bot", "action", "backtest"},
        {"web", "github"},
        {"judging"},
        {"planning", "metrics"},
        {"configuration", "store", "settings"},
        {"administrators", "http_settings", "logs"},
    ],
    "distriage_training": [
        {"commands"},
        {"release", "study", "learn", "bench", "second_reader"},
        {"measure"},
        {"fit"},
        {"corpus"},
        {"checkout", "config"},
    ],
    "distriage_research": [
        {"commands"},
        {"order"},
        {"bench", "corpus", "experiments", "published", "verdicts"},
        {"files", "intervals", "needs", "clusters", "same"},
    ],
}
MAX_MODULES, MAX_LINES, MAX_PARAMETERS = 15, 300, 6
FEW_PARAMETERS = ("planning", "bot", "store")


@cache
def modules() -> dict[str, Path]:
    """Name -> file of every module."""
    return {
        ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__"): path
        for package, folder in PACKAGES.items()
        for path in sorted(folder.rglob("*.py"))
        if "migrations" not in path.parts
    }


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def imported(name: str) -> list[str]:
    """Modules of ours that a module imports, in functions and for types too."""
    every: list[str] = []
    package = name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree(name)):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [base])]
                )
            found = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules() else base for alias in node.names]
        every += [module for module in found if module in modules() and module != name]
    return every


def room(name: str) -> str:
    """The folder or file of a package that a module is in: `distriage_serving.web.guard` is in `web`."""
    return name.split(".")[1] if "." in name else ""


# ---------------------------------------------------------------- imports


@pytest.mark.parametrize(
    ("package", "may_import"),
    [
        ("distriage", {"distriage"}),
        ("distriage_serving", {"distriage", "distriage_serving"}),
        ("distriage_training", {"distriage", "distriage_training"}),
        ("distriage_research", {"distriage", "distriage_serving", "distriage_training", "distriage_research"}),
    ],
)
def test_packages_import_only_the_library_and_themselves(package: str, may_import: set[str]) -> None:
    wrong = [
        f"{name} imports {other}"
        for name in modules()
        if name.split(".")[0] == package
        for other in imported(name)
        if other.split(".")[0] not in may_import
    ]
    assert wrong == []


@pytest.mark.parametrize("package", FLOORS)
def test_imports_run_down(package: str) -> None:
    floor = {name: number for number, rooms in enumerate(FLOORS[package]) for name in rooms}
    wrong = []
    for name in modules():
        if name.split(".")[0] != package or not room(name):
            continue
        assert room(name) in floor, f"{name}: which floor is {room(name)} on? See FLOORS"
        for other in imported(name):
            if other.split(".")[0] != package or not room(other) or room(other) == room(name):
                continue
            if floor[room(other)] <= floor[room(name)]:
                wrong.append(f"{name} imports {other}")
    assert sorted(set(wrong)) == []


def test_no_import_is_circular() -> None:
    """Nor within a function or for a type. A package's own module comes before the modules in it."""
    graph = {name: set(imported(name)) for name in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(f"{one}" for one, _ in pairwise(reversed(error.args[1]))))


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("package", FLOORS)
def test_no_folder_has_too_many_modules(package: str) -> None:
    folders = [PACKAGES[package], *(path for path in PACKAGES[package].rglob("*") if path.is_dir())]
    counts = {str(folder.relative_to(REPOSITORY)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {
        folder: count for folder, count in counts.items() if count > MAX_MODULES and "/versions" not in folder
    } == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_holds_one_module(package: str) -> None:
    """Which would be there only to count elsewhere."""
    files = (path for path in PACKAGES[package].rglob("*.py") if path.parent != PACKAGES[package])
    counts = Counter(str(path.parent.relative_to(REPOSITORY)) for path in files)
    assert [folder for folder, count in counts.items() if count == 1] == []


def test_no_module_is_too_long() -> None:
    long = {name for name, path in modules().items() if len(path.read_text("utf-8").splitlines()) > MAX_LINES}
    assert long == set()


def test_no_function_takes_too_many_parameters() -> None:
    found = set()
    for name in modules():
        if not name.startswith("distriage_serving.") or room(name) not in FEW_PARAMETERS:
            continue
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                if len([argument for argument in given if argument not in {"self", "cls"}]) > MAX_PARAMETERS:
                    found.add(f"{name}.{node.name}")
    assert found == set()


def test_the_tree_of_contributing_is_the_house() -> None:
    """Each room of a package stands in CONTRIBUTING's tree, and each entry of the tree exists."""
    page = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    drawn = page.partition("```\nsrc/distriage/")[2].partition("```")[0]
    sections = {folder: set[str]() for name, folder in PACKAGES.items() if name != "distriage_research"}
    folder = REPOSITORY / "src" / "distriage"
    for line in drawn.splitlines()[1:]:
        if not line.startswith("  "):
            folder = REPOSITORY / line.split("  ")[0].strip()
        elif folder in sections and not line.startswith("   "):
            sections[folder].update(name.rstrip("/") for name in line.strip().partition("  ")[0].split())
    for folder, named in sections.items():
        rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
        assert rooms - named == set() and [name for name in named if not (folder / name).exists()] == []
