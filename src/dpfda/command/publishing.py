"""How any verb publishes: public checks, outputs, ledger, cautions, reading, noise, files, words."""

from __future__ import annotations

import copy
import importlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import weights_planned
from dpfda.command.declared import Given, Option, documented
from dpfda.command.reading import Reader, Summary, located
from dpfda.command.running import (
    FAILED,
    Account,
    fail,
    foreseen_charge,
    listed,
    note,
    opened_account,
    save,
    tell,
    tell_dry_run,
    warn,
)
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.words import so_many

if TYPE_CHECKING:
    from fractions import Fraction

    from dpfda.bases.kernels import KernelFunction
    from dpfda.bounds import Bound, Search
    from dpfda.privacy.certificates import Certificate
    from dpfda.releases.base import Release

# Makes a file out of a release.
Writer = Callable[[Any, Path], object]
# What is planned of data that are not known yet.
TRIED_UNITS, TRIED_POINTS = 100, 24
MEAN = "dpfda.mean.estimator:PrivateMean"
# Options that say what axes are called.
LABELS = ("x_label", "y_label")
CHOICES = (
    "be exactly one of --bounds LO HI, --l2-bound TAU, --l1-bound TAU and --standardize "
    "(which may go with --l1-bound or --l2-bound)"
)
FOOT = (
    "All arguments are public, and checked before the file is read. Running it again on the same data "
    "is a second release: losses add up."
)


def save_plot(release: Release, path: Path) -> None:
    """Write a picture of a release."""
    from dpfda.command.files import save_picture

    save_picture(release.plot, path)


def save_table(release: Release, path: Path) -> None:
    """Write the table of a release as CSV."""
    from dpfda.releases.files import write_text
    from dpfda.views import to_csv

    write_text(path, to_csv(release.table()))


def picture_of(part: Callable[[Any], Release], option: Option) -> tuple[Option, Writer]:
    """An output of a verb: a picture of a part of the release, with the option that asks for it."""
    return option, lambda release, path: save_plot(part(release), path)


@dataclass(frozen=True)
class Publication:
    """A verb that publishes: an estimator, a reader, outputs, and what is special about them.

    Parameters
    ----------
    name, examples
        As of a `Verb`.
    words : str
        What the verb does.
    plans : sequence of str
        Examples of its plan.
    estimators : sequence of str
        "module:Class": the estimator, then those beside the mean that its docstring refers to.
    reader : Reader
    trial : callable
        Takes the estimator and fails where its public parameters cannot be used; by default it is
        planned. Returns the certificate of a release of made-up size, where there is one.
    bounded : bool
        Whether --bounds, --l2-bound and --l1-bound choose its bound.
    options : sequence of Option
        Parameters of the estimator that this verb words or types in its own way.
    without : sequence of str
        Parameters of the estimator that have no option here.
    settings : callable
        What else the options say to the estimator.
    outputs : mapping
        Files that this verb alone writes: what names each, and what writes it.
    csv : bool
        Whether a release can be written as a table.
    """

    name: str
    words: str
    estimators: Sequence[str]
    reader: Reader[Any]
    examples: Sequence[str]
    plans: Sequence[str] = ()
    trial: Callable[[Summary], Certificate | None] | None = None
    bounded: bool = False
    options: Sequence[Option] = ()
    without: Sequence[str] = ()
    settings: Callable[[Given], Mapping[str, object]] = lambda args: {}
    outputs: Sequence[tuple[Option, Writer]] = ()
    csv: bool = True
    panel: ClassVar[str] = o.PUBLISHING

    @property
    def help(self) -> str:
        """What the verb does."""
        return f"{self.words}\n\n{FOOT}"

    @property
    def homes(self) -> tuple[str, ...]:
        """The estimator, and those whose docstrings have the words that its own refers to."""
        return (*self.estimators, MEAN)

    @property
    def parameters(self) -> dict[str, Option]:
        """Options that are parameters of the estimator, by name."""
        of_all = {name: set_ for name, set_ in o.PARAMETERS.items() if name not in self.without}
        own = documented(self.homes)
        options = of_all | {option.name: option for option in self.options}
        if "rho" in own:
            options["epsilon"] = replace(options["epsilon"], default=None)
        return {name: option for name, option in options.items() if name in own}

    @property
    def chosen(self) -> dict[str, Option]:
        """Options that state public choices, by name."""
        bounds = o.BOUNDS if self.bounded else ()
        return {**self.parameters, **{option.name: option for option in (*bounds, *self.options)}}

    @property
    def written(self) -> Sequence[tuple[Option, Writer]]:
        """What is written beside the release, and how."""
        return (*self.outputs, *(((o.CSV, save_table),) if self.csv else ()), (o.PLOT, save_plot))

    def all_options(self) -> list[Option]:
        """All options."""
        options = (
            *self.reader.options, *self.chosen.values(), o.DATASET, o.OUT,
            *(option for option, _ in self.written), o.OVERWRITE, o.DRY_RUN, o.AS_JSON,
        )  # fmt: skip
        return o.arranged(options, self.homes)

    def run(self, args: Given) -> None:
        """Publish: nothing is read before the public arguments are checked, or drawn before a charge."""
        from dpfda.command.files import check_outputs
        from dpfda.privacy.words import cautions

        estimator = self.estimator(args)
        guarantee = estimator.asked()
        outputs = [(option, getattr(args, option.name), write) for option, write in self.written]
        paths = {"--out": args.out, **{option.flag: path for option, path, _ in reversed(outputs)}}
        check_outputs(paths, {"FILE": args.file}, args.overwrite)
        planned = self._tried(args, estimator)
        charged = not args.dry_run and not self.reader.paid(args)
        account = opened_account(args.ledger, args.dataset, announced=charged)
        warnings = list(cautions(guarantee, getattr(args, "public_size", None)))
        for text in warnings:
            warn(text)
        if args.dry_run:
            facts = self.foreseen(args, estimator, planned, account)
            tell_dry_run(facts, args.as_json, warnings)
            return
        if alone := self.reader.alone(args):
            note(f"{alone}; one who may have several rows is protected less")
        table = self.read(args, estimator)
        if account is not None:
            estimator.set_params(ledger=account.ledger.of(account.dataset))
        with located(table):
            release = self.reader.release(estimator, table, args)
        files = write_release(release, args.out, outputs, account)
        with after_publication(args.out):
            new = [text for text in release._warnings() if text not in warnings]
            notes = self.reader.notes(args, table)
            for text in new:
                warn(text)
            for text in notes:
                note(text)
            notes = [*filter(None, [alone]), *notes]
            tell_files(release, files, args.as_json, warnings=warnings + new, notes=notes)

    def _tried(self, args: Given, estimator: Summary) -> Certificate | None:
        """What a release of made-up size would promise."""
        return self.trial(estimator) if self.trial else try_plan(estimator, **weights_planned(args))

    def read(self, args: Given, estimator: Summary) -> Any:
        """Read the file, and tell the estimator what its public part says."""
        table = self.reader.read(args)
        estimator.set_params(**estimator._addressed(self.reader.from_header(args, table)))
        return table

    def foreseen(
        self, args: Given, estimator: Summary, planned: Certificate | None, account: Account | None
    ) -> dict[str, str]:
        """What the verb would do with these options and this file, of which the header alone is read."""
        from dpfda.records.files import header_alone

        with header_alone():
            table = self.read(args, estimator)
            axis = self.reader.axis(args, table)
        unit, relation = estimator.settings.unit.called(args.groups), estimator.settings.unit.relation
        # A first line that should be a header may be somebody's record: only typed names are shown.
        stated = getattr(args, "columns", "") is not None or table.columns == ()
        typed = [*(table.columns if stated else ()), *self.reader.used(args, table), args.groups]
        used = [*dict.fromkeys(name for name in typed if name is not None)]
        others = [] if stated else [f"{len(table.columns)} of the curve"]
        if not stated and table.axis != "words":
            axis = "as the header says: name the curve's columns (--columns) to see it here"
        # A radius may follow from where the header says that curves lie.
        heard = self._tried(args, estimator)
        bound = "" if heard is None else str(heard.bound["description"])
        if planned is not None and not stated and str(planned.bound["description"]) != bound:
            bound = ""
        ends = getattr(args, "bounds", None)
        beside = [getattr(args, option.name) for option, _ in self.written]
        return {
            "publishes": self.words.partition("\n")[0].removeprefix("Publish "),
            "guarantee": str(estimator.asked()),
            "protects": "; ".join(filter(None, [relation.describe(unit), self.reader.alone(args)])),
            "bound": bound or ("" if ends is None else f"values clipped to [{ends[0]:g}, {ends[1]:g}]"),
            "columns": ", ".join([*others, *listed(used)]),
            "axis": axis.removeprefix("axis: "),
            "called": ", ".join(text for name in LABELS if (text := getattr(args, name, None))),
            "in the file": so_many(len(table.header), "column"),
            **foreseen_charge(
                estimator.asked(), planned, account, relation, unit, self.reader.paid(args)
            ),
            "writes": ", ".join(str(path) for path in (args.out, *beside) if path is not None),
        }

    def estimator(self, args: Given) -> Summary:
        """The estimator with the public parameters that were given."""
        # The ledger is opened after all checks.
        names = [name for name in self.parameters if name != "ledger"]
        values: dict[str, object] = {name: getattr(args, name) for name in names}
        values |= budget_of(args)
        # By default who is protected is called as the column that says whose a record is.
        values["unit"] = args.unit or args.groups or getattr(args, "id", None)
        if self.bounded:
            values["bounds"] = bound_from(args)
        stated = {**values, **self.reader.settings(args), **self.settings(args)}
        # What was not given has the estimator's default.
        parameters = {name: value for name, value in stated.items() if value is not None}
        module, name = self.estimators[0].split(":")
        kind: type[Summary] = getattr(importlib.import_module(module), name)
        return kind(**parameters)


def budget_of(args: Given) -> dict[str, Fraction]:
    """Epsilon, delta and rho as they were given: text is read as the decimal that it is."""
    from dpfda.numerics.parameters import exact

    texts = {name: getattr(args, name, None) for name in ("epsilon", "delta", "rho")}
    return {name: exact(text, name) for name, text in texts.items() if text is not None}


def bound_from(args: Given) -> Bound | Search:
    """The one bound that was given.

    Raises
    ------
    ParameterError
        If there is none or more than one; the message names the choices.
    """
    from dpfda.bounds import L1Ball, L2Ball, Search, ValueBounds, read_bounds

    search = getattr(args, "search", None)
    stated = {
        "--bounds": args.bounds, "--search": search, "--l2-bound": args.l2_bound,
        "--l1-bound": args.l1_bound,
    }  # fmt: skip
    names = [name for name, value in stated.items() if value is not None]
    if len(names) > 1 or (args.standardize and {"--bounds", "--search"} & {*names}):
        typed = " and ".join([*names, "--standardize"] if args.standardize else names)
        raise ParameterError("The bound", CHOICES, typed, "Leave all but one out.")
    if not names and not args.standardize:
        remedy = "It must come from knowledge of the measurement, never from these data."
        raise ParameterError("The bound", CHOICES, "none", remedy)
    if args.bounds is not None:
        return ValueBounds(*args.bounds)
    if search is not None:
        return Search(*search)
    if args.l1_bound is not None:
        return L1Ball(args.l1_bound)
    standard = args.l2_bound is None
    return read_bounds(None, args.standardize) if standard else L2Ball(args.l2_bound)


def kernel_on(text: str | None, domain: tuple[float, float]) -> KernelFunction:
    """The kernel for a domain: the one named, else the default."""
    from dpfda.bases.kernels import default_kernel, parse_kernel

    return default_kernel(domain) if text is None else parse_kernel(text, domain)


def try_plan(estimator: Summary, **further: object) -> Certificate | None:
    """Plan a release of made-up size, so that a refusal comes before the file is read."""
    place = estimator.settings.domain
    if not hasattr(estimator, "basis"):
        # The edges of a table of counts are its domain.
        return None if place.domain_range is None else estimator.plan(TRIED_UNITS, **further).certified()
    center, domain = getattr(estimator, "center", None), place.domain_range
    center = getattr(center, "curve", center)
    for curve in (center, *(getattr(estimator, "prior", None) or ())):
        if domain is None and callable(curve):
            domain = curve.domain_range
    if domain is None and place.grid_points is None and estimator.basis is not None:
        # A range in units of the header's numbers needs a domain that fits it.
        reach = float(getattr(kernel_on(estimator.basis, (0.0, 1.0)), "length_scale", 0.1))
        domain = (0.0, 10 * reach)
    if domain is None and place.grid_points is None and place.periods:
        domain = (0.0, max(place.periods))
    trial = copy.copy(estimator).set_params(domain__domain_range=domain)
    return trial.plan(TRIED_UNITS, columns=TRIED_POINTS, **further).certified()


def write_release(
    release: Release,
    out: Path,
    outputs: Sequence[tuple[Option, Path | None, Writer]],
    account: Account | None = None,
) -> dict[str, str]:
    """Write the release, then what can be made from it again, and note it; paths by what they hold.

    A picture or a table that fails is a warning and no failure: a script that saw one would release
    again.
    """
    save(release, out, account)
    files = {"release": str(out)}
    for option, path, write in outputs:
        if path is None:
            continue
        try:
            write(release, path)
        except Exception as error:
            # Whatever fails here has read the release alone, which is public.
            why = str(error) or type(error).__name__
            warn(
                f"{option.flag} {path} was not written ({why}). The release is written in {out} and "
                "counts; dpfda plot and dpfda eval draw and tabulate it at no cost."
            )
        else:
            files[option.name.replace("_", " ")] = str(path)
    if account is not None:
        with after_publication(out):
            account.note_file(release, out)
    return files


@contextmanager
def after_publication(out: Path) -> Iterator[None]:
    """What fails here fails after the release: say so, and leave with the status of a failure."""
    try:
        yield
    except (DpfdaError, OSError) as error:
        fail(f"The release is published in {out} and counts, but then: {error}", FAILED)


def words(release: Release, files: Mapping[str, str]) -> str:
    """A release in a few lines, for the terminal."""
    written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
    facts = {**release.facts.lines(), "written": written}
    return "\n".join([repr(release), *(f"  {name + ':':<13} {fact}" for name, fact in facts.items())])


def tell_files(release: Release, files: Mapping[str, str], as_json: bool, **more: object) -> None:
    """Print what was published and written: in words, or as JSON with further entries."""
    if as_json:
        tell(release.facts.to_json() | {"files": files, **more})
    else:
        shown = f"Next: dpfda show {shlex.quote(files['release'])}"
        tell(f"{words(release, files)}\n{shown}   (what is promised, in plain words)")
