"""What a careful data officer would object to in a guarantee."""

from __future__ import annotations

from dpfda.front.report.numbers import factor, number, percent, posterior, worded_epsilon
from dpfda.privacy.guarantees import ApproximateDP, Guarantee

# Beyond epsilon = 5 a suspicion of 50 per cent can become one of 99.3 per cent.
LARGE_EPSILON = 5
LARGE_DELTA = 1e-5


def cautions(guarantee: Guarantee, size: int | None = None) -> tuple[str, ...]:
    """What a careful data officer would object to in a guarantee.

    Parameters
    ----------
    guarantee : Guarantee
    size : int, optional
        Number of privacy units, only where it is public.

    Returns
    -------
    tuple of str
        One sentence or two each; empty where there is nothing to object to.
    """
    found = []
    epsilon = worded_epsilon(guarantee)
    if epsilon > LARGE_EPSILON:
        found.append(
            f"Epsilon {number(epsilon)} is large: the odds can change by a factor of "
            f"{number(factor(epsilon))}, so that a suspicion of 50% can become one of "
            f"{percent(posterior(epsilon))}. Above {LARGE_EPSILON} the promise is weak; values of 1 "
            "or below are usual where the data are sensitive."
        )
    if not isinstance(guarantee, ApproximateDP):
        return tuple(found)
    delta = float(guarantee.delta)
    why = (
        "A program that picks each unit with probability delta and publishes its data outright "
        "would satisfy a promise with this delta."
    )
    if size is not None and delta * size >= 1:
        found.append(
            f"Delta {delta:g} is not below one over the number of units (1/{size}). {why} "
            "Choose a delta far below that."
        )
    elif delta > LARGE_DELTA:
        found.append(f"Delta {delta:g} is above {LARGE_DELTA:g}. {why} Choose a smaller delta.")
    return tuple(found)
