"""Releases of disjoint groups that one charge paid for: what they share, and why it is enough."""

from __future__ import annotations

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import label
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases.function import OfMeans, Part


def level_name(level: object) -> str:
    """What a group is called; by its labels in the order of their columns, where there are several."""
    return " / ".join(map(str, level)) if isinstance(level, tuple) else str(level)


class OfGroups(OfMeans[Part]):
    """A release of each of several disjoint groups, at the cost of one.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or they differ in what they promise or in their domain.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = list(self.means.values())
        terms = {(each.guarantee, each.neighbours, each.unit, each.domain_range) for each in parts}
        if len(parts) < 2 or len(terms) != 1:
            words = "be two or more with one guarantee, relation, unit and domain"
            raise ParameterError("groups", words, f"{len(parts)} with {len(terms)} kinds")
        if not all(each.certificate.paid_with(parts[0].certificate) for each in parts):
            words = "be released together, so that one charge paid for all"
            remedy = "Fit them in one call, with their labels."
            raise ParameterError("groups", words, "releases of their own", remedy)

    @property
    def certificate(self) -> Certificate:
        """Of all releases together: that of each, because the groups share no privacy unit."""
        return self._any.certificate

    def __getitem__(self, name: str | tuple[str, ...]) -> Part:
        """The release of a group."""
        return self.means[self._name(name)]

    def _name(self, name: str | tuple[str, ...]) -> str:
        return label(level_name(name) if isinstance(name, tuple) else name, "group", self.names)

    def describe_composition(self) -> str:
        """Say in words why the groups together cost what one of them costs."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return (
                f"parallel composition: every {self.unit} is in one group, and which group, like the "
                f"number of {several(self.unit)} of each, is public; neighbours replace the data of one "
                f"{self.unit}, who stays in the same group"
            )
        return (
            f"parallel composition: every {self.unit} is in one group, which is private like the "
            f"numbers of {several(self.unit)}; neighbours add or remove one {self.unit}. To move one "
            "from a group to another is to remove and to add: twice the guarantee"
        )

    def _to_entries(self) -> dict[str, object]:
        return {"composition": self.describe_composition(), **super()._to_entries()}

    def _lines(self) -> dict[str, str]:
        return {
            "guarantee": f"{self.guarantee}, all groups together",
            "because of": self.describe_composition(),
        }
