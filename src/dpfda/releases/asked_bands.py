"""Which band of a release is asked for, and why one that it does not state is refused."""

from __future__ import annotations

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import flag
from dpfda.releases.bands import Asked, Of, check_level, check_of
from dpfda.releases.published import Published


def unstated(release: Published, of: str) -> str:
    """Why a release states no such band."""
    if of == "population":
        return "What other units would add is not known for it."
    noise = release._claims()[0].of == "noise"
    about = f"Its band is about {'the privacy noise' if noise else 'noise and sampling together'}."
    return about if of == "noise" else f"{release._unseen} {about}"


def checked(release: Published, level: float, simultaneous: bool, of: Of | None, exact: bool) -> Asked:
    """Which band of a release is asked for; the first that it states by default.

    Raises ParameterError if the level is none, or the release states no such band.
    """
    level, stated = check_level(level, simultaneous), [claim.of for claim in release._claims()]
    if check_of(of) not in (None, *stated):
        words = f"be {' or '.join(map(repr, stated))} for this {release._CALLED}"
        raise ParameterError("of", words, repr(of), unstated(release, str(of)))
    if flag(exact, "exact") and (of not in (None, "noise") or not release._has_exact):
        words = "be left out here: it is for $of, where what was measured is drawn as well"
        raise ParameterError("exact", words, "True", of="noise")
    return Asked(level, simultaneous, of or ("noise" if exact else stated[0]), exact)
