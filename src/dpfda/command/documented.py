"""What the docstring of an estimator says of its parameters, read without importing the estimator.

A help page is asked for often and must come at once; importing an estimator takes a second.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from dataclasses import dataclass
from functools import cache

# Says that another estimator has the words.
ELSEWHERE = "As in "
# Objects that hold several parameters, each of which is an option.
GATHERED = {
    "domain": "dpfda.spine.settings:Domain",
    "unit": "dpfda.spine.settings:PrivacyUnit",
    "reading": "dpfda.spine.settings:Reading",
    "center": "dpfda.covariance.strategies:Center",
    "features": "dpfda.machines.plan:Features",
    "solver": "dpfda.machines.plan:Solving",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator, as its class states it.

    Parameters
    ----------
    words : str
        The description.
    choices : tuple of str
        Words that it may be, where the docstring lists them.
    default : object
        None where there is no literal one.
    """

    words: str = ""
    choices: tuple[str, ...] = ()
    default: object = None


def documented(homes: tuple[str, ...]) -> dict[str, Parameter]:
    """Parameters of an estimator by name.

    Parameters
    ----------
    homes : tuple of str
        "module:Class" of the estimator, then of those that its docstring refers to. One without a
        constructor of its own has that of the next.
    """
    found: dict[str, Parameter] = {}
    while len(homes) > 1 and not _parameters(homes[0]):
        homes = homes[1:]
    own = _parameters(homes[0]) if homes else {}
    gathered = [home for name, home in GATHERED.items() if name in own]
    for home in gathered:
        for name, (kind, words, default) in _parameters(home).items():
            found.setdefault(name, Parameter(words, _choices(kind), default))
    for number, home in enumerate(homes):
        for name, (kind, words, default) in _parameters(home).items():
            if (name in found or number == 0) and not (name in found and found[name].words):
                choices = _choices(kind)
                first = found[name].default if name in found else default
                found[name] = Parameter("" if words.startswith(ELSEWHERE) else words, choices, first)
    return found


@cache
def _parameters(home: str) -> dict[str, tuple[str, str, object]]:
    """Type, words and default of the parameters of a class."""
    module, name = home.split(":")
    root, *parts = module.split(".")
    source = pkgutil.get_data(root, "/".join(parts) + ".py")
    if source is None:
        raise ModuleNotFoundError(module)
    (found,) = (n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == name)
    words = described(ast.get_docstring(found) or "")
    made = [n for n in found.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    pairs = _defaults(made[0].args) if made else _fields(found)
    return {key: (*words.get(key, ("", "")), default) for key, default in pairs}


def _choices(kind: str) -> tuple[str, ...]:
    return tuple(re.findall(r"['\"]([\w-]+)['\"]", kind)) if kind[:1] == "{" else ()


def _fields(found: ast.ClassDef) -> list[tuple[str, object]]:
    """Fields of a frozen object, and their defaults where these are literal."""
    given = [n for n in found.body if isinstance(n, ast.AnnAssign)]
    placed = [(n.target, n.value) for n in given if "ClassVar" not in ast.unparse(n.annotation)]
    return [
        (target.id, value.value if isinstance(value, ast.Constant) else None)
        for target, value in placed
        if isinstance(target, ast.Name)
    ]


def _defaults(arguments: ast.arguments) -> list[tuple[str, object]]:
    placed = arguments.args[1:]
    given = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(placed, given, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [(a.arg, d.value if isinstance(d, ast.Constant) else None) for a, d in pairs]


def described(docstring: str) -> dict[str, tuple[str, str]]:
    """Type and description of each parameter in a numpydoc docstring."""
    _, _, after = inspect.cleandoc(docstring).partition("Parameters\n----------\n")
    section = re.split(r"\n\n.+\n---+\n", after)[0]
    found: dict[str, tuple[str, str]] = {}
    for part in re.split(r"\n(?=\S)", section):
        header, _, words = part.partition("\n")
        names, _, kind = header.partition(" : ")
        found |= {name.strip(): (kind, " ".join(words.split())) for name in names.split(",")}
    return found
