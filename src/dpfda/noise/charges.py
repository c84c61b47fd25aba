"""What noise in force gives and is charged at: asked of the law, which must speak for itself.

Laws found by scan: a file in this folder that defines a law is found by itself, by its ``law``.
"""

from __future__ import annotations

from typing import Any

from dpfda.noise.protocol import AnyLaw, AnyNorm, Law, NoiseLaw, VectorLaw, Width, unsuited
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.scan import classes_in
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP


def achieved_guarantee(noise: NoiseLaw, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
    """Recompute, from the integer scales in force, what a noise law gives; rounded outward.

    noise: In force.
    norm: {"l1", "l2", "linf", "box", "ellipsoid"}. Kind of the set in which neighbouring sums differ.
    width: Its radius; for a box or an ellipsoid its size in each coordinate, in grid units.
    requested: Of the kind that is wanted: a pure epsilon, the delta at the requested epsilon, or rho.
    Raises RefusedMechanismError if the law cannot give a guarantee of this kind, or has its loss from
    another law.
    """
    check_own(noise, requested)
    return noise.achieved(norm, width, requested)


def check_own(noise: AnyLaw, requested: Guarantee) -> None:
    """Refuse a law that inherits what it draws or what it promises: a subclass may draw another law.

    Raises RefusedMechanismError.
    """
    if not {"draw", "achieved"} <= vars(type(noise)).keys():
        raise unsuited(noise, requested)


def cost_of(noise: AnyLaw, achieved: Guarantee, requested: Guarantee) -> Cost:
    """What a release of a sum with this noise costs.

    The cost is the requested guarantee, and the loss of the same law that has it: both cover what is
    achieved, whose scales were rounded up, and both are known before the integers are. Pure noise that
    was chosen for an approximate guarantee costs no delta. A law that does not say its loss is known by
    its guarantee alone.

    noise: In force.
    achieved: What it gives, recomputed; within the requested guarantee.
    requested: What it was scaled to.
    """
    if isinstance(achieved, PureDP) and isinstance(requested, ApproximateDP):
        requested = PureDP(requested.epsilon)
    own = {"draw", "loss"} <= vars(type(noise)).keys()
    return Cost(requested, noise.loss(requested) if own else None)


def laws_of(kind: type[Law] = VectorLaw) -> dict[str, type[Any]]:
    """Names of all laws of a kind in the files of this folder, with their classes."""
    laws = classes_in(__name__.rpartition(".")[0], "law")
    return {law.law: law for law in laws if issubclass(law, kind)}


def law_from_json(written: object, kind: type[Law] = VectorLaw) -> Any:
    """The law that `Law.to_json` wrote. Raises KeyError if no law of this kind has the name."""
    entries = mapping(written)
    return laws_of(kind)[text(entries["law"])].from_json(entries)
