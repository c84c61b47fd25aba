"""Habits that hold of all files: tests use no private name, nothing is explained at length."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dpfda
from dpfda.releases.kinds import kinds

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "dpfda"
# Names of Python and of packages of others.
FOREIGN = {
    "_exit",  # of os
    "_repr_html_",  # which notebooks call
    "_rdp",  # of dp_accounting
    "_make_np_sum",  # of opendp
    "_NotAnArray",  # of scikit-learn
}
BY_NAME = ("setattr", "getattr", "hasattr", "delattr", "import_module")


def is_private(name: str) -> bool:
    """Whether a part of a dotted name has one leading underscore."""
    parts = set(name.split(".")) - FOREIGN
    return any(part.startswith("_") and part.strip("_") and part[1] != "_" for part in parts)


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private names that a file takes from elsewhere; what it defines on its own objects is its own."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.ctx, ast.Store) and _of_itself(node)}
    for node in attributes:
        if is_private(node.attr) and not (_of_itself(node) and node.attr in own):
            yield node.attr
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield from filter(is_private, [node.module or "", *(each.name for each in node.names)])
        elif isinstance(node, ast.Import):
            yield from filter(is_private, (each.name for each in node.names))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BY_NAME:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            yield from filter(is_private, (text for text in texts if isinstance(text, str)))


def _of_itself(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def explained_at_length(tree: ast.AST) -> set[str]:
    """Classes and functions whose docstrings have more than 60 lines."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    named = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return {each.name for each in named if (ast.get_docstring(each) or "").count("\n") >= 60}


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda path: path.name)
def test_no_private_name_is_used(path: Path) -> None:
    assert sorted(private_names(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "line",
    [
        "from dpfda.numerics.gridsums import _scale",
        "from dpfda._inside import scale",
        "import dpfda._inside",
        "release._sum",
        "mean()._plan(3)",
        "monkeypatch.setattr(module, '_scale', 2)",
        "monkeypatch.setattr('dpfda.numerics._scale', 2)",
        "hasattr(release, '_sum')",
        "class Sub(Base):\n    def f(self):\n        return self._sum",
    ],
)
def test_a_private_name_would_be_found(line: str) -> None:
    assert list(private_names(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "os._exit(0)",
        "from __future__ import annotations",
        "type(release).__init__",
        "for _ in range(3): made(_)",
        "monkeypatch.setattr(verbs, '__path__', [])",
        "class Own:\n    def f(self):\n        self._x = 1\n    def g(self):\n        return self._x",
    ],
)
def test_what_is_public_or_the_file_s_own_is_let_be(line: str) -> None:
    assert list(private_names(ast.parse(line))) == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_docstrings_have_sixty_lines_and_leave_proofs_to_the_pages(path: Path) -> None:
    assert explained_at_length(ast.parse(path.read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize("kind", ["class Made:", "def made():", "async def made():"])
def test_a_longer_docstring_would_be_found(kind: str) -> None:
    for lines, found in ((60, set()), (61, {"made"})):
        body = "\n    ".join(["line"] * lines)
        text = f'{kind}\n    """{body}"""'
        assert {name.lower() for name in explained_at_length(ast.parse(text))} == found


def test_editors_know_the_release_of_every_summary_and_every_kind() -> None:
    typed = (HERE / "typed_use.py").read_text(encoding="utf-8")
    summaries = [name for name in dpfda.__all__ if name.startswith("Private")]
    shipped = [kind.__name__ for kind in kinds().values() if kind.__module__.startswith("dpfda.")]
    missing = [name for name in summaries if not re.search(rf"assert_type\(\s*{name}\(", typed)]
    assert missing + [name for name in shipped if f"{name}.load(" not in typed] == []


def test_ten_files_to_read_first_are_there_and_short() -> None:
    page = (HERE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"^\d+\. `([\w/]+\.py)`", page, re.MULTILINE)
    assert len(names) == 10
    assert sum(len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in names) <= 1500


def imported(path: Path, modules: set[str]) -> set[str]:
    """The modules of the package that a file imports anywhere, for types alone as well."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    lines = [(node.module, node.names) for node in nodes if isinstance(node, ast.ImportFrom)]
    named = [(f"{module}.{each.name}", module) for module, names in lines for each in names]
    return {whole if whole in modules else module for whole, module in named} & modules


def test_modules_import_each_other_in_no_circle() -> None:
    files = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    arrows = {name: imported(path, {*files}) - {name} for name, path in files.items()}
    assert sum(map(len, arrows.values())) > 2000
    TopologicalSorter(arrows).prepare()
    # Where a base imported what derives from it, that would be found.
    arrows["dpfda.releases.published"].add("dpfda.releases.base")
    with pytest.raises(CycleError):
        TopologicalSorter(arrows).prepare()
