"""A verb that is a function: its parameters are the options, and its docstring is the help page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpfda.command.declared import Declared, Given, Option, described
from dpfda.command.options import PARAMETERS, SHARED, told

WRITTEN = re.compile(r"(--\S+)? ?(.*?)(?: \(\$(\w+)\))?")


@dataclass(frozen=True)
class Verb:
    """A verb of the command: one file in `verbs` that holds it as ``VERB``, found by scan.

    Parameters
    ----------
    name : str
        As it is typed.
    help : str
        What it does.
    told : callable
        The options as they are shown; asked for when it is run or explained.
    run : callable
        Takes what was given.
    examples : sequence of str
        Lines that can be typed.
    panel : str, optional
        Where the list of verbs has it.
    """

    name: str
    help: str
    told: Callable[[], Sequence[Option]]
    run: Callable[[Given], None]
    examples: Sequence[str] = ()
    panel: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[..., None],
        examples: Sequence[str] = (),
        panel: str | None = None,
    ) -> Verb:
        """A function as a verb: its parameters are arguments and, after a star, options.

        Its docstring is the help page. What that says of a parameter is "name : METAVAR" and the words
        below; beside METAVAR stand the flag, where it is not the name ("--at T"), and a variable that
        sets it, too ("T ($DPFDA_T)"). Of what many verbs have it need say nothing: that is in
        `options.SHARED`.
        """
        written = inspect.getdoc(function) or ""

        def options() -> list[Option]:
            said = described(written)
            parameters = inspect.signature(function, eval_str=True).parameters
            return told([_option(each, *said.get(name, ("", ""))) for name, each in parameters.items()])

        words = written.partition("\n\nParameters\n---")[0]
        return cls(name, words, options, lambda given: function(**vars(given)), examples, panel)


def _option(parameter: inspect.Parameter, written: str, words: str) -> Option:
    """The option that sets a parameter."""
    name = parameter.name
    sets = PARAMETERS[name].sets if name in PARAMETERS else ()
    known = SHARED.get(name) or Option(name, "--" + name.replace("_", "-"), sets=sets)
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
    verbs : mapping
        By name; each is made when it is asked for.
    default : str, optional
        Which one is meant where an option comes first.
    """

    name: str
    help: str
    verbs: Mapping[str, Declared]
    examples: Sequence[str] = ()
    panel: str | None = None
    default: str | None = None
