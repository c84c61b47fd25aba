"""A verb that is a function: its parameters are the options, and its docstring is the help page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpfda.front.command.declared import Declared, Given, Option
from dpfda.front.command.documented import described
from dpfda.front.command.options import SHARED, told

WRITTEN = re.compile(r"(--\S+)? ?(.*?)(?: \(\$(\w+)\))?")


@dataclass(frozen=True)
class Verb:
    """A verb of the command: one file in `verbs` that holds it as ``VERB``, found by scan.

    Parameters
    ----------
    name : str
        As it is typed.
    function : callable
        Its parameters are arguments, and after a star options. Its docstring is the help page; what it
        says of a parameter is "name : METAVAR" and the words below; beside METAVAR stand the flag,
        where it is not the name ("--at T"), and a variable that sets it, too ("T ($DPFDA_T)"). Of
        what many verbs have it need say nothing: that is in `options.SHARED`.
    examples : sequence of str
        Lines that can be typed.
    panel : str, optional
        Where the list of verbs has it.
    """

    name: str
    function: Callable[..., None]
    examples: Sequence[str] = ()
    panel: str | None = None

    @property
    def help(self) -> str:
        """What the verb does."""
        return self._said.partition("\n\nParameters\n---")[0]

    def told(self) -> list[Option]:
        """The options as they are shown."""
        said = described(self._said)
        parameters = inspect.signature(self.function, eval_str=True).parameters
        return told([_option(each, *said.get(name, ("", ""))) for name, each in parameters.items()])

    @property
    def _said(self) -> str:
        return inspect.getdoc(self.function) or ""

    def run(self, given: Given) -> None:
        """Call the function with what was given."""
        self.function(**vars(given))


def _option(parameter: inspect.Parameter, written: str, words: str) -> Option:
    """The option that sets a parameter."""
    known = SHARED.get(parameter.name) or Option(parameter.name, "--" + parameter.name.replace("_", "-"))
    flag, metavar, variable = WRITTEN.fullmatch(written).groups()  # type: ignore[union-attr]
    if words:
        known = replace(known, metavar=metavar, help=words, envvar=variable)
    return replace(
        known,
        flag=flag or known.flag if parameter.kind is parameter.KEYWORD_ONLY else "",
        type=parameter.annotation,
        default=parameter.default,
    )


@dataclass(frozen=True)
class Group:
    """Verbs under one name, such as ``dpfda ledger show``.

    Parameters
    ----------
    name, help, examples, panel
        As of a `Verb`.
    verbs : sequence of Declared
    default : str, optional
        Which one is meant where an option comes first.
    """

    name: str
    help: str
    verbs: Sequence[Declared]
    examples: Sequence[str] = ()
    panel: str | None = None
    default: str | None = None
