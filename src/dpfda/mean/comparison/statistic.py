"""The statistic of a test of equal means: one exact integer, which gets noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpfda.mean.comparison.forms import Forms
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication.integers import publish_integers, statistic_noise
from dpfda.publication.paying import NAMED, Paying
from dpfda.releases.shares import NoisyShares


def publish_statistic(
    sums: Sequence[IntegerSum],
    half_widths: Sequence[int],
    forms: Forms,
    guarantee: Guarantee,
    entry: Mapping[str, object],
    tuning: Mapping[str, object],
    paying: Paying = NAMED,
) -> tuple[NoisyShares, Certificate]:
    """Charge the ledger, draw the noise, add it to the statistic.

    **Guarantee.** Neighbours replace the data of one unit, who stays in its group. Its integers over a
    cell are between -H and H, so that they move by at most 2 H and the statistic, an integer, by at
    most 2^20 (`dpfda.mean.comparison.forms`), whichever group it is in and however many there are.

    Parameters
    ----------
    sums : sequence of IntegerSum
        Private sums of each group over the fine cells.
    half_widths : sequence of int
        H of each cell.
    forms : Forms
    guarantee : Guarantee
    entry, tuning, paying
        As in `publish_integers`.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    law, charged, norm, width = statistic_noise(guarantee)
    number = IntegerSum.one_number(sums, lambda totals: forms.statistic(totals, half_widths))
    noisy, certificate = publish_integers(number, law, norm, width, charged, entry, paying, tuning)
    return NoisyShares(noisy, law, forms.smallest), certificate
