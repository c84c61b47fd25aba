"""What a person says of looks at the records: two, one alone, or a search for bounds."""

from __future__ import annotations

from dataclasses import dataclass

from dpfda.bounds import Search
from dpfda.numerics.errors import ParameterError
from dpfda.spine.settings import Gathered

# What says so in the place of an object, on the command line or in a study; and that there is one alone.
NAME, ONE = "two-looks", "one-look"


@dataclass(frozen=True, repr=False, eq=False)
class TwoLooks(Gathered):
    """Strategy of a mean between bounds: a rough line first, then the records held close to it.

    The default, ``mechanism="auto"``, where `dpfda.mean.two_looks.may_look` says so. Given as
    ``mechanism=TwoLooks()``, or by its name, "two-looks", it is refused where there cannot be two looks;
    "one-look" is one alone. There is nothing to say: where the number of units times epsilon is below
    5,000 there is one look; elsewhere 3 % of the budget find out how far records lie from the mean, and
    where that is as far as the bounds allow the other 97 % make what one look would.

    Notes
    -----
    The guarantee is proved in the docstring of `dpfda.mean.two_looks`. Records are read three times, so
    there are no streams, Dask arrays or custodians; under add/remove neighbours a public size is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 9000)[:, None]
    >>> mean = PrivateMean(epsilon=10.0, bounds=(-5, 5), mechanism=TwoLooks()).fit(curves)
    >>> mean.release_.certificate.mechanism["name"]
    'two looks'
    """

    def refusal(self, what: str) -> ParameterError:
        """What to raise where there cannot be two looks."""
        remedy = (
            "Two looks need records between bounds that can be read more than once; elsewhere "
            "$mechanism has one."
        )
        words = f"have one look for {what}"
        return ParameterError("mechanism", words, repr(NAME), remedy, mechanism="auto")


def two_looks_of(mechanism: object) -> TwoLooks | None:
    """The strategy, where a mechanism is it or its name."""
    if isinstance(mechanism, TwoLooks):
        return mechanism
    return TwoLooks() if isinstance(mechanism, str) and mechanism == NAME else None


def strategy_of(bounds: object, mechanism: object) -> TwoLooks | Search | None:
    """What of the parameters makes records be read again. Raises ParameterError if both do."""
    looks = two_looks_of(mechanism)
    if isinstance(bounds, Search):
        if looks is not None:
            raise bounds.refusal("two looks")
        return bounds
    return looks


def is_one_look(mechanism: object) -> bool:
    """Whether records are to be asked for one thing alone, the line."""
    return isinstance(mechanism, str) and mechanism == ONE


def mechanism_of_look(mechanism: object) -> object:
    """What a look of its own draws with, for what was said of looks: the default."""
    said = two_looks_of(mechanism) is not None or is_one_look(mechanism)
    return "auto" if said else mechanism


def refuse_two_looks(mechanism: object, what: str) -> None:
    """Raise ParameterError where a mechanism is two looks, which there are not for something."""
    if (strategy := two_looks_of(mechanism)) is not None:
        raise strategy.refusal(what)
