"""What is to be added up: the costs in certificates, each charge once, under one neighbour relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from dpfda.numerics.errors import ParameterError
from dpfda.privacy.caveats import Caveat, HasCaveats, check_covered
from dpfda.privacy.guarantees import Neighbours

if TYPE_CHECKING:
    from dpfda.privacy.composition.costs import Cost


class Charged(HasCaveats, Protocol):
    """What composition reads of a certificate."""

    @property
    def charges(self) -> tuple[tuple[str, str, Cost], ...]:
        """Of each stage: what tells its charge from all others, ending with the cost."""

    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def unit(self) -> str | None: ...


@runtime_checkable
class Released(Protocol):
    """Anything that carries a certificate: a release of any kind, a session, a private selection."""

    @property
    def certificate(self) -> Charged:
        """What it promises and what it cost."""


@dataclass(frozen=True)
class Charge:
    """What a ledger charged for one release, whose stages it does not name.

    Parameters
    ----------
    identity : str
        The release's, which is found again in its files.
    costs : tuple of Cost
        All that was charged, under `neighbours`.
    neighbours : Neighbours
    unit : str or None
        None where it was charged in advance and no release has stated it.
    """

    identity: str
    costs: tuple[Cost, ...]
    neighbours: Neighbours
    unit: str | None
    # A ledger's rows are each fit of a search; what its scores tell, its listing says.
    caveats: ClassVar[tuple[Caveat, ...]] = ()

    @property
    def certificate(self) -> Charge:
        """Itself, so that it is added up where releases are."""
        return self

    @property
    def charges(self) -> tuple[tuple[str, str, Cost], ...]:
        """Of each stage, what tells its charge from all others."""
        return tuple((self.identity, f"{i}", cost) for i, cost in enumerate(self.costs))


@dataclass(frozen=True)
class Common:
    """Costs that can be added.

    costs: All under `neighbours`.
    neighbours: None where only bare costs were given, without their relation.
    unit: The privacy unit; None where only bare costs were given.
    charged: How many charges of their own the items are: releases, and bare costs.
    repeated: Of each item, whether it adds nothing, because what it costs is counted with another.
    """

    costs: tuple[Cost, ...]
    neighbours: Neighbours | None
    unit: str | None
    charged: int
    repeated: tuple[bool, ...]


def common(items: Sequence[Released | Cost], neighbours: Neighbours | str | None) -> Common:
    """Costs of all items under one neighbour relation and for one privacy unit.

    A stage of a release is counted once, however many derivatives, parts and copies of the release are
    listed: they carry one identity. Releases that were charged separately never do, whatever they cost.
    What a ledger charged for a release is all that it cost: its files add nothing to that.

    Raises ParameterError if units differ, or the relation of a bare guarantee is not known. Raises
    NotCoveredError if a release is more than its guarantee covers.
    """
    certificates = [item.certificate for item in items if isinstance(item, Released)]
    check_covered(certificates)
    unit = _one_unit({certificate.unit for certificate in certificates if certificate.unit})
    relations = {certificate.neighbours for certificate in certificates}
    given = None if neighbours is None else Neighbours.parse(neighbours)
    bare = len(certificates) < len(items)
    if bare and given is None:
        if len(relations) > 1:
            raise ParameterError("neighbours", "say for which relation the bare guarantees hold", "None")
        given = next(iter(relations), None)
    if bare and given is not None:
        relations.add(given)
    mixed = len(relations) > 1
    costs: list[Cost] = []
    seen: set[tuple[str, str, Cost]] = set()
    whole = {(c.identity, cost) for c in certificates if isinstance(c, Charge) for cost in c.costs}
    repeated: list[bool] = []
    for item in items:
        own, parts = (item.certificate.neighbours if isinstance(item, Released) else given), _parts(item)
        held = () if isinstance(item, Charge) else whole
        new = [
            cost for key, cost in parts
            if key is None or (key not in seen and (key[0], cost) not in held)
        ]  # fmt: skip
        seen |= {key for key, _ in parts if key is not None}
        repeated.append(not new)
        convert = mixed and own is Neighbours.ADD_REMOVE
        costs += [cost.for_replace_one() for cost in new] if convert else new
    relation = Neighbours.REPLACE_ONE if mixed else next(iter(relations), None)
    identities = {charge[0] for made in certificates for charge in made.charges}
    charged = len(identities) + len(items) - len(certificates)
    return Common(tuple(costs), relation, unit, charged, tuple(repeated))


def _parts(item: Released | Cost) -> list[tuple[tuple[str, str, Cost] | None, Cost]]:
    """The costs of an item, each with what tells its charge from others; None where nothing does."""
    if isinstance(item, Released):
        # The cost is part of the key: where files disagree on it, both are counted.
        return [(charge, charge[-1]) for charge in item.certificate.charges]
    return [(None, item)]


def _one_unit(units: set[str]) -> str | None:
    if len(units) > 1:
        raise ParameterError(
            "releases",
            "protect the same privacy unit",
            " and ".join(repr(unit) for unit in sorted(units)),
            "Where a unit has at most k of the other, use for_group(guarantee, k) and add guarantees.",
        )
    return next(iter(units), None)
