"""The options that verbs declare, and what docstrings say of them, read without importing estimators.

A help page is asked for often and must come at once; importing an estimator takes a second.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin

import typer

from dpfda.numerics.errors import DpfdaError, ParameterError

# Says that another estimator has the words.
ELSEWHERE = "As in "
SECTION = re.compile(r"\n\n.+\n---+\n")
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
    parameters: dict[str, Parameter] = {}
    while len(homes) > 1 and not _parameters(homes[0]):
        homes = homes[1:]
    own = _parameters(homes[0]) if homes else {}
    for part in (*(_parameters(home) for name, home in GATHERED.items() if name in own), own):
        parameters = part | parameters
    for home in homes:
        for name, parameter in _parameters(home).items():
            if name in parameters and not parameters[name].words:
                parameters[name] = replace(parameter, default=parameters[name].default)
    return parameters


@cache
def _parameters(home: str) -> dict[str, Parameter]:
    """The parameters of a class; those that another one explains have no words."""
    module, name = home.split(":")
    root, *parts = module.split(".")
    source = pkgutil.get_data(root, "/".join(parts) + ".py")
    if source is None:
        raise ModuleNotFoundError(module)
    (node,) = (n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == name)
    words = described(ast.get_docstring(node) or "")
    parameters: dict[str, Parameter] = {}
    for key, default in _defaults(node):
        kind, text = words.get(key, ("", ""))
        choices = re.findall(r"['\"]([\w-]+)['\"]", kind) if kind[:1] == "{" else ()
        parameters[key] = Parameter("" if text.startswith(ELSEWHERE) else text, tuple(choices), default)
    return parameters


def _defaults(node: ast.ClassDef) -> list[tuple[str, object]]:
    """Parameters of a constructor, or fields of a frozen object, and their defaults where literal."""
    written = [n.args for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if written:
        (own,) = written
        names = [argument.arg for argument in (*own.args[1:], *own.kwonlyargs)]
        values: list[ast.expr | None] = [*own.defaults, *own.kw_defaults]
        values = [*[None] * (len(names) - len(values)), *values]
    else:
        stated = [n for n in node.body if isinstance(n, ast.AnnAssign)]
        fields = [n for n in stated if "ClassVar" not in ast.unparse(n.annotation)]
        names, values = [ast.unparse(n.target) for n in fields], [n.value for n in fields]
    literal = [value.value if isinstance(value, ast.Constant) else None for value in values]
    return [*zip(names, literal, strict=True)]


def described(docstring: str) -> dict[str, tuple[str, str]]:
    """Type and description of each parameter in a numpydoc docstring."""
    _, _, after = inspect.cleandoc(docstring).partition("Parameters\n----------\n")
    texts: dict[str, tuple[str, str]] = {}
    for part in re.split(r"\n(?=\S)", SECTION.split(after)[0]):
        header, _, words = part.partition("\n")
        names, _, kind = header.partition(" : ")
        texts |= {name.strip(): (kind, " ".join(words.split())) for name in names.split(",")}
    return texts


# What a person typed, by the names of the parameters.
Given = SimpleNamespace
# An option that must be given; and one whose default is that of the estimator.
REQUIRED = inspect.Parameter.empty
THEIRS = object()
# Stands in the words of an option for those of the estimator's docstring.
DOCSTRING = "{docstring}"
# What is typed becomes one of these by a call.
KINDS = {
    str: "be text", float: "be a number", int: "be a whole number", Path: "be a path", bool: "be a flag"
}  # fmt: skip
QUOTES = "'\""
# Of what stands for a value, what is typed as it is.
COLUMN = re.compile(r"COLUMN|PATTERN|NAME[:|]")
CHOICE = re.compile(r"[a-z][a-z-]*|[.,]")
# Letters for what is typed most often: the same in every verb.
SHORT = {
    "--epsilon": "-e", "--delta": "-d", "--bounds": "-b", "--out": "-o", "--plot": "-p",
    "--groups": "-g", "--columns": "-c", "--column": "-c", "--units": "-n", "--kernel": "-k",
    "--target": "-t", "--missing": "-m", "--level": "-l", "--json": "-j", "--at": "-a",
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """An option of a verb, or an argument where it has no flag.

    Parameters
    ----------
    name : str
        The parameter that it sets.
    flag : str
        As it is typed.
    metavar : str
        What stands for its value; by default the choices of the estimator's docstring.
    help : str
        Words; ``{docstring}`` in them stands for those of the estimator.
    panel : str, optional
        Where the help page lists it.
    type : type
    default : object
    envvar : str, optional
        Variable of the environment that sets it, too.
    sets : tuple of str
        Other parameters that it sets: an error about one of them names this option.
    usual : str
        What it is where it is not typed, if a default does not say so.
    standing : object
        Of one that a state keeps: what it is where it is neither typed nor kept.
    """

    name: str
    flag: str = ""
    metavar: str = ""
    help: str = DOCSTRING
    panel: str | None = None
    type: Any = str
    default: object = THEIRS
    envvar: str | None = None
    sets: tuple[str, ...] = ()
    usual: str = ""
    standing: object = REQUIRED

    def worded(self, parameters: Mapping[str, Parameter], flags: Mapping[str, str]) -> Option:
        """The option with the words, the choices and the default of an estimator's parameter."""
        parameter = parameters.get(self.name, Parameter())
        return replace(
            self,
            help=self.help.replace(DOCSTRING, _typed(parameter.words, flags)),
            metavar=self.metavar or "|".join(parameter.choices) or self.name.upper(),
            default=parameter.default if self.default is THEIRS else self.default,
        )

    def remembered(self) -> Option:
        """The option where a state keeps what was typed first: it need not be typed again."""
        default = None if self.default is REQUIRED else self.default
        return replace(self, default=None, usual=str(default or ""), standing=default)

    @property
    def otherwise(self) -> object:
        """What it is where it is not typed."""
        return self.default if self.standing is REQUIRED else self.standing

    @property
    def choices(self) -> Sequence[str]:
        """Words that it may be, of those that stand for its value."""
        words = self.metavar.split("|")
        return [word for word in words if len(words) > 1 and CHOICE.fullmatch(word)]

    def completed(self, ctx: typer.Context, incomplete: str) -> list[str]:
        """Words that it may be and that begin so: choices, or what is public of what was typed."""
        words = self.choices or OFFERED.get(self.name, _columns)(ctx.params)
        return [word for word in words if word.startswith(incomplete)]

    def read(self, typed: Any) -> object:
        """The typed text as a value. Raises ParameterError if it is of another type."""
        kinds = get_args(self.type)
        if typed is None or typed == ():
            return typed
        if get_origin(self.type) is list:
            return [self._read(kinds[0], value) for value in typed]
        if kinds:
            return tuple(self._read(own, value) for own, value in zip(kinds, typed, strict=True))
        return self._read(self.type, typed)

    def _read(self, kind: type, typed: object) -> object:
        try:
            return typed if isinstance(typed, kind) else kind(typed)
        except ValueError:
            remedy = f"Write {self.flag} {self.metavar}." if self.flag else ""
            fault, name = repr(str(typed)), self.flag or self.metavar
            raise ParameterError(name, KINDS[kind], fault, remedy) from None

    def parameter(self) -> inspect.Parameter:
        """The parameter of a function that the command line is read from."""
        words: dict[str, Any] = {"help": self.help.replace("[", "\\["), "rich_help_panel": self.panel}
        if self.usual:
            words["show_default"] = self.usual
        if self.type is not bool:
            words |= {"metavar": self.metavar, "envvar": self.envvar}
        if self.choices or self.name in OFFERED or COLUMN.match(self.metavar):
            words["autocompletion"] = self.completed
        flags = [flag for flag in (self.flag, SHORT.get(self.flag)) if flag]
        info = (typer.Option if self.flag else typer.Argument)(*flags, **words)
        kind = self.type if self.default is not None else self.type | None
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=self.default,
            annotation=Annotated[kind, info],
        )


def _columns(typed: Mapping[str, object]) -> Sequence[str]:
    """Columns of the file."""
    from dpfda.command.files import named_columns

    file, decimal = typed.get("file"), str(typed.get("decimal") or ".")
    return named_columns(Path(str(file)), decimal) if file else ()


def _datasets(typed: Mapping[str, object]) -> Sequence[str]:
    """Data sets of the ledger, given or named once; none where it cannot be read.

    The ledger is the file where no other is asked for.
    """
    from dpfda.privacy.ledger import Ledger, named_once

    path = typed["ledger"] if "ledger" in typed else typed.get("file")
    try:
        file = Path(str(path)) if path else named_once().ledger
        return () if file is None else Ledger(file).datasets()
    except (DpfdaError, OSError):
        return ()


def _mechanisms(_typed: Mapping[str, object]) -> Sequence[str]:
    """Names of mechanisms."""
    from dpfda.mechanisms import mechanisms

    return ["auto", *mechanisms()]


# What a shell offers for an option that has no choices, by its name.
OFFERED: dict[str, Callable[[Mapping[str, object]], Sequence[str]]] = {
    "dataset": _datasets,
    "mechanism": _mechanisms,
    "basis": lambda _: ("matern:", "rbf:", "exponential:"),
    "unit": lambda typed: (str(typed.get("groups") or typed.get("id") or "record"),),
}


def _typed(words: str, flags: Mapping[str, str]) -> str:
    """Words with parameters as they are typed: for ``center="private"``, --center private."""

    def name(match: re.Match[str]) -> str:
        parameter, _, value = match[1].partition("=")
        flag = flags.get(parameter, "")
        return f"{flag} {value.strip(QUOTES)}".strip() if flag else match[1]

    return re.sub(r"`+([^`]+)`+", name, words)
