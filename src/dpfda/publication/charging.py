"""What a release costs, written once; what it is charged to; and the charge, before noise is drawn."""

from __future__ import annotations

import datetime
import platform
import sys
import warnings
from collections.abc import Mapping

import flint
import numpy as np

from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee
from dpfda.noise.charges import kept_within
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics.errors import FittedStepWarning, LedgerError, ParameterError, RepeatedReleaseWarning
from dpfda.privacy.caveats import STEPS, fitted_steps, is_charged
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger import Reservation, named_ledger
from dpfda.privacy.ledger.named import Paying

# Once a process: Python's own register of warnings is emptied wherever filters are changed.
WARNED: set[type[Warning]] = set()
REPEATED = (
    "Each fit of a search or cross-validation is a release of the same private data, and the losses add "
    "up: each says that the search is not covered. Tune on public data, or by private_selection "
    "(dpfda.tuning)."
)
FITTED = (
    "The steps {steps} of the pipeline were fitted on private data, so that a record changes others "
    "before the summary reads them: the guarantee does not hold for that, and the release says so. Use "
    "steps with public constants that read one record at a time."
)


def certified_entry(
    costs: Mapping[str, Cost], entry: Mapping[str, object], mechanism: Mapping[str, object] | None = None
) -> Certificate:
    """As `certified`, from the public description that goes into the ledger's history."""
    return Certificate.charged(
        costs,
        Neighbours.parse(entry["neighbours"]),
        str(entry["privacy_unit"]),
        {"description": entry["bound"]},
        {"name": entry["mechanism"]} if mechanism is None else mechanism,
    )


def charged_for(
    costs: Mapping[str, Cost],
    achieved: Guarantee,
    entry: Mapping[str, object],
    paying: Paying,
    mechanism: Mapping[str, object] | None = None,
) -> Certificate:
    """Charge costs, of noise that gives a guarantee, before it is drawn; other parameters as above."""
    certificate = certified_entry(costs, entry, mechanism).fulfilled(achieved)
    charge(paying, certificate, entry)
    return certificate


def recomputed(
    noise: NoiseLaw | SymmetricNoise, norm: AnyNorm, width: Width | OuterDifference, part: Guarantee
) -> Guarantee:
    """The guarantee of the scales in force, which must not exceed the part of the budget.

    Laws on matrices are held to an `OuterDifference`, which says all norms.

    Raises DpfdaError if it does.
    """
    return kept_within(achieved_guarantee(noise, norm, width, part), part)


def stamp() -> dict[str, object]:
    """Date and versions that a release carries."""
    return {
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {
            "python": platform.python_version(),
            "dpfda": sys.modules["dpfda"].__version__,
            "numpy": np.__version__,
            "python-flint": flint.__version__,
        },
    }


def charge(paying: Paying, certificate: Certificate, entry: Mapping[str, object]) -> None:
    """Charge the costs in a certificate, if a ledger is given or named once, before any noise is drawn.

    A fit that scikit-learn repeats (a fold, a candidate) must draw on a reservation: only then is the
    whole search refused before its first charge.

    Raises ParameterError if there is a ledger and the data set has no name. Raises BudgetError if the
    ledger refuses. Raises LedgerError if the fit is one of many and its ledger is no reservation.
    """
    account, dataset = paying
    if account is None and is_charged():
        return
    kinds = {caveat.kind for caveat in certificate.caveats}
    repeated = bool(kinds - {STEPS})
    if STEPS in kinds:
        steps = ", ".join(fitted_steps())
        _warn_once(FittedStepWarning, FITTED.format(steps=steps))
    if account is None:
        named = named_ledger(dataset)
        if named is None:
            if repeated:
                _warn_once(RepeatedReleaseWarning, REPEATED)
            return
        account, dataset = named
    if dataset is None:
        raise ParameterError("dataset", "name the data set that the ledger charges", "None")
    if not isinstance(account, Reservation) and repeated:
        raise LedgerError(
            f"Each fit of a search or cross-validation is a release from {dataset!r}, and all of them "
            "must be charged before the first; found a ledger. Pass ledger.reserve(dataset, guarantee, "
            "times) as the estimator's ledger: candidates times folds, and one more for refitting. "
            "Nothing was charged."
        )
    row: dict[str, object] = {**entry, "release": certificate.identity}
    if certificate.caveats:
        row["caveats"] = [caveat.to_json() for caveat in certificate.caveats]
    account.charge(dataset, certificate.costs, row)


def _warn_once(kind: type[Warning], words: str) -> None:
    if kind not in WARNED:
        WARNED.add(kind)
        warnings.warn(words, kind, stacklevel=3)
