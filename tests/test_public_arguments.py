"""Odd values for every public argument: each works, or is refused at once in the library's own words.

Run as a program for all of them: ``python tests/test_public_arguments.py``.
"""

import sys
import warnings

import numpy as np
import pytest
from matplotlib import pyplot

import dpfda
from dpfda.errors import DpfdaError, UnreadLabelsWarning
from odd_values import POOL, complaint
from public_surface import (
    CALLS,
    ESTIMATORS,
    MODULES,
    NEVER,
    NOT_FOR_USERS,
    arguments,
    objects,
    public_methods,
    questions,
)

pytestmark = pytest.mark.usefixtures("few_draws")

# What is made by the library itself, from arguments that are covered.
NOT_CALLED = {
    "AnyLedger", "BoxBasis", "Charge", "DatasetLedger", "KroneckerBasis", "Ledger", "Session",
}  # fmt: skip


def home(thing):
    return sys.modules.get(getattr(thing, "__module__", ""))


def test_every_public_name_is_covered():
    named = {name.split(" ")[0] for name in (*ESTIMATORS, *CALLS)}
    assert set(dpfda.__all__) <= named | NOT_CALLED
    for module in MODULES:
        of_module = {n for n, thing in vars(module).items() if callable(thing) and module is home(thing)}
        public = set(getattr(module, "__all__", of_module)) - {n for n in of_module if n.startswith("_")}
        listed = {name.rsplit(".", 1)[-1] for name in named}
        assert public <= listed | NOT_FOR_USERS | NOT_CALLED, module.__name__


# What takes long and is one function for all kinds, and kinds that have it tried in every run.
LONG = {
    "report": ("function", "machine"), "between": ("plan of quantiles",),
    "least_epsilon": ("plan of quantiles", "plan of a test"),
}  # fmt: skip


def refusals(of_run):
    """Methods that refuse their usual arguments: of those tried in every run, or of all others."""
    refused = set()
    for kind, thing in objects().items():
        for name, _, given in public_methods(kind, thing):
            if (kind in LONG.get(name, (kind,))) != of_run:
                continue
            try:
                getattr(thing, name)(**given)
            except DpfdaError:
                refused.add(f"{kind}.{name}")
        # Matplotlib warns of many figures that stay open.
        pyplot.close("all")
    return refused


# The other reports and plans: in every run test_the_command_knows_it draws what they show.
@pytest.mark.parametrize("of_run", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_every_method_answers_the_arguments_that_the_odd_ones_replace(of_run):
    assert refusals(of_run) <= NEVER


def wrong_answers(tried, seed, count):
    """Complaints about a random part of all calls with all odd values."""
    pairs = [(name, call, key) for name, call in tried for key in POOL]
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    answers = (
        (*pairs[number][::2], complaint(pairs[number][1], POOL[pairs[number][2]])) for number in chosen
    )
    return "\n".join(f"{name} = {key}: {found}" for name, key, found in answers if found is not None)


# Any y but None is pointed out, and not read.
NOT_READ = pytest.mark.filterwarnings("ignore::dpfda.errors.UnreadLabelsWarning")


@NOT_READ
@pytest.mark.parametrize("share", range(3))
def test_odd_arguments_work_or_are_refused_in_our_words(share):
    assert wrong_answers(arguments(), 2026 + share, 200) == ""


@NOT_READ
@pytest.mark.parametrize("share", range(2))
def test_odd_arguments_of_methods_work_or_are_refused_in_our_words(share, tmp_path, monkeypatch):
    # Odd paths are files, too.
    monkeypatch.chdir(tmp_path)
    assert wrong_answers(questions(), 2126 + share, 400) == ""


def main(only: str) -> None:
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UnreadLabelsWarning)
    count = bad = 0
    for name, call in (*questions(), *arguments()):
        if only not in name:
            continue
        groups: dict[str, list[str]] = {}
        for key, odd in POOL.items():
            count += 1
            found = complaint(call, odd)
            if found is not None:
                bad += 1
                groups.setdefault(found, []).append(key)
        for found, keys in groups.items():
            print(f"{name}: {', '.join(keys)}\n    {found}", flush=True)
    print(f"{bad} of {count}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
