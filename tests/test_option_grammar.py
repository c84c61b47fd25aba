"""One name of an option means one thing in all verbs: its type, the form of its value and its words."""

import re
from collections import defaultdict

from dpfda.front.verbs import declared_verbs

# Why the value of an option has another form in some verbs.
OTHER_FORMS = {
    "--out": "its value shows the ending of what is written",
    "--by": "custodians have agreed on the groups, and name the column alone",
    "--covariate": "levels are for models that have coefficients of groups",
    "--target": "classes where they are predicted, bounds where numbers are",
    "--loss": "choices are those of the estimator",
    "--mechanism": "choices are those of the estimator",
    "--scale": "choices are those of the estimator",
}
# Why its words are others, where its value has one form.
OTHER_WORDS = {
    "--epsilon": "what only some estimators do is left out; a ledger's is a total",
    "--delta": "as --epsilon",
    "--rho": "as --epsilon",
    "--keys": "who holds them, and when they are used up",
    "--ledger": "charged, taken in, or told of",
    "--dataset": "charged, made, or one of those that are shown",
    "--unit": "of a release or of a budget",
    "--units": "of one custodian or of all",
    "--plot": "of a release or of a plan",
    "--csv": "of all that is released, or of what was evaluated",
    "--dry-run": "what would be charged: one release, many, or parts",
    "--neighbours": "of a release or of a budget",
    "--domain": "of curves or of follow-ups",
    "--time": "of observations or of follow-ups",
    "--event": "custodians have agreed on its codes",
    "--cells": "along what the estimator has cells",
    "--column": "several for a density, one for quantiles",
    "--step": "a density says more of it",
    "--level": "of a band that is read, or of the one that is planned",
    "--levels": "of curves or of numbers",
    "--points": "a plan has no grid in its place",
    "--folder": "of a session or of keys",
}


def said() -> tuple[dict[str, set], dict[str, set]]:
    """Forms of values and words of all options by their names."""
    forms, words = defaultdict(set), defaultdict(set)
    for verb in declared_verbs().values():
        for option in verb.all_options():
            if option.flag:
                kind = re.sub(r"<class '|'>| \| None", "", str(option.type))
                forms[option.flag].add("flag" if option.type is bool else (option.metavar, kind))
                words[option.flag].add(option.help)
    return forms, words


def several(found: dict[str, set]) -> set[str]:
    return {flag for flag, meanings in found.items() if len(meanings) > 1}


def test_a_value_has_one_form_in_all_verbs_but_for_a_reason():
    forms, _ = said()
    assert several(forms) == {*OTHER_FORMS}


def test_an_option_has_the_same_words_in_all_verbs_but_for_a_reason():
    _, words = said()
    assert several(words) - {*OTHER_FORMS} == {*OTHER_WORDS}


def test_what_meant_two_things_has_two_names():
    forms, _ = said()
    assert forms["--band"] == {("X", "str")}
    assert forms["--band-kind"] == {("simultaneous|pointwise|exact", "str")}
    assert {metavar for metavar, _ in forms["--components"]} == {"K"}
    assert {metavar for metavar, _ in forms["--weights"]} == {"COLUMN:LARGEST"}
