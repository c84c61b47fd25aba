"""Released means of several groups, and their differences; all public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import ClassVar

import numpy as np

from dpfda.mean.comparison.difference_release import SAMPLING, ReleasedDifference, together
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.words import first_up
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.distance import check_together
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.function import OfGroups, ReleasedFunction, level_name
from dpfda.releases.lines import PROVED
from dpfda.releases.promise import identity_of
from dpfda.spine.memberships import crossed
from dpfda.views import Curve, Line, Panels, View

BORROWED = (
    "The line of each group is drawn to what all others show, as far as the noisy numbers of all show "
    "groups to be alike. Nothing but these numbers was used for it."
)


@dataclass(frozen=True, eq=False)
class ReleasedComparison(OfGroups[ReleasedFunction]):
    """Mean curves of disjoint groups, released at the cost of one.

    Parameters
    ----------
    means : mapping from str to ReleasedFunction
        The release of every group, by name. All carry one certificate: one charge paid for them.
    factors : mapping from str to tuple of str, optional
        Labels by the names of their columns, where groups are combinations of several: the group of
        "day" and "north" is called "day / north", and is ``release["day", "north"]``.

    Notes
    -----
    Whether groups have one mean function is tested by `dpfda.PrivateEqualityTest`.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or they differ in what they promise or in their domain.
    """

    means: Mapping[str, ReleasedFunction] = field(
        metadata=file.named_means(ReleasedFunction).named("groups").kept
    )
    factors: Mapping[str, tuple[str, ...]] | None = field(
        default=None, metadata=file.NAMED_LABELS.or_absent.kept
    )

    _FORMAT: ClassVar[str] = "dpfda-comparison"
    _CALLED: ClassVar[str] = "dpfda comparison of groups"
    _plural: ClassVar[bool] = True
    _bands_are: ClassVar[str] = "Ask one of them, release[name].band(), or release.difference(a, b)."
    _subject = "mean curves by group"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors is not None and not {*self.means} <= {*self._places}:
            raise ParameterError("factors", "have every group among their combinations", "others")

    @property
    def _places(self) -> dict[str, tuple[object, ...]]:
        """Labels of every combination by its name."""
        return crossed(self.factors or {})

    def difference(
        self, first: str | tuple[str, ...], second: str | tuple[str, ...]
    ) -> ReleasedDifference:
        """The mean of one group minus that of another.

        Of default lines of curves between bounds it is the difference of the two released means. Of
        others it is taken between linear estimates with one and the same public linear map for both
        groups: those means may be shrunk further, by what each release showed, which is more accurate
        for each, but would make groups differ where the data do not.

        Raises
        ------
        ParameterError
            If a name is unknown, or the releases were not made with one design.
        """
        first, second = (self._name(name) for name in (first, second))
        lines = ReleasedDifference(self[first], self[second], (first, second))
        if lines._is_line:
            return lines
        pair = [replace(self[name], hierarchy=None) for name in (first, second)]
        # Of no synthesis both have none.
        maps = [(mean.shrinkage, np.array(mean.synthesis)) for mean in pair]
        if not all(np.array_equal(*both) for both in zip(*maps, strict=True)):
            remedy = (
                "Means that are shrunk differently differ where the data do not: use PrivateComparison."
            )
            raise ParameterError("groups", "be released with one design", "two", remedy)
        return ReleasedDifference(pair[0], pair[1], (first, second))

    # Its file.

    def _checked(self) -> None:
        super()._checked()
        check_together([(mean.distance, mean.divisor) for mean in self.means.values()])

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        entries = super()._entries(written, kernel)
        if written["schema_version"] == 1:
            # One charge paid for all; what all groups have in common is the guarantee.
            parts = [mapping(mapping(part)["mean"]) for part in sequence(written["groups"])]
            identity = identity_of({"noise": [identity_of(part) for part in parts]})
            for group, mean in entries["means"].items():
                certificate = replace(
                    mean.certificate, identity=identity, stages=(WHOLE,), costs=(Cost(mean.guarantee),)
                )
                entries["means"][group] = replace(mean, certificate=certificate)
        return entries

    # Tables, pictures and words.

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        means = {}
        for group, mean in self.means.items():
            columns = Release._columns(mean, at, asked)
            for column, values in columns.items():
                means[f"mean {group}" if column == "value" else f"mean {group}, {column}"] = values
        if self.factors:
            return means
        gap = self.leading
        value, *band = Release._columns(gap, at, asked).items()
        return {**means, " minus ".join(gap.names): value[1], **dict(band)}

    def _band_points(self) -> Floats:
        return self._any._band_points()

    def _claims(self) -> tuple[Claim, ...]:
        return (self._any if self.factors else self.leading)._claims()

    def _band_facts(self) -> Iterable[BandFact]:
        own = [
            BandFact.of(replace(mean._claims()[0], name=name), mean, LEVEL)
            for name, mean in self.means.items()
        ]
        if self.factors:
            widest = max(own, key=lambda band: band.typical)
            claim = replace(widest.claim, name=f"{widest.claim.name}, the widest of all bands")
            return [replace(widest, claim=claim)]
        return [*(BandFact.of(gap._claims()[0], gap, LEVEL) for gap in self._gaps), *own]

    @property
    def _gaps(self) -> list[ReleasedDifference]:
        """The first group minus each of the others."""
        return [self.difference(self.names[0], name) for name in self.names[1:]]

    @property
    def leading(self) -> ReleasedDifference:
        """The first group minus the second."""
        return self.difference(*self.names[:2])

    def _difference(self) -> View:
        return self.leading.view()

    def view(self, level: float | None = LEVEL) -> Curve:
        if self.factors:
            return self._group_panels(level)
        of = self.about.get("group")
        titles = {name: f"{of} {name}" if of else name for name in self.means}
        return self._curve([mean._line(titles[name], level) for name, mean in self.means.items()])

    def _group_panels(self, level: float | None) -> Panels:
        """A small picture of each group: labels of the last factor run across, others down."""
        assert self.factors is not None  # noqa: S101
        lines = [mean._line("released function", level) for mean in self.means.values()]
        average = replace(lines[0], values=np.mean([line.values for line in lines], axis=0))
        behind = Line(average.points, average.values, "average of all groups", stroke="dashed")
        *down, across = self.factors.values()
        rows = [level_name(labels) for labels in product(*down)]
        named = [self._places[name] for name in self.names]
        places = [(rows.index(level_name(place[:-1])), across.index(str(place[-1]))) for place in named]
        curve = self._curve(lines)
        drawn = {part.name: getattr(curve, part.name) for part in fields(curve)} | {"behind": (behind,)}
        return Panels(**drawn, rows=tuple(rows), columns=across, places=tuple(places))

    @property
    def _named(self) -> str:
        """Names of the groups, after that of the column where it is known."""
        if self.factors:
            return "; ".join(f"{name}: {', '.join(labels)}" for name, labels in self.factors.items())
        of, names = self.about.get("group"), ", ".join(self.names)
        return f"{of}: {names}" if of else names

    @property
    def public_units(self) -> int | None:
        return together(self.means.values())

    def _stated(self) -> Stated:
        composition, gap = self.describe_composition(), self.leading
        # All groups have one grid, one kernel and one law.
        own = next(iter(self.means.values()))._stated()
        remarks, numbers = [BORROWED] if gap._borrows else [], {}
        findings = {}
        if not self.factors:
            verdicts = [f"{' minus '.join(gap.names)} {gap._verdict}" for gap in self._gaps]
            sentence = f"the {100 * LEVEL:g}% band of {'; that of '.join(verdicts)}"
            remarks = [
                *([PROVED] if gap._is_proved else []),
                f"{first_up(sentence)}. {SAMPLING}",
                *remarks,
            ]
            numbers = {"difference": {"names": list(gap.names), "outside_noise": gap.outside_noise()}}
            findings = {"difference": f"{sentence} (sampling is not in it)"}
        return Stated(
            f"The mean curves of {len(self.names)} groups ({self._named}). Their differences, and "
            "anything else that is made of them, cost no further privacy. The promise is for all "
            "groups together.",
            protected=[f"{first_up(composition)}."],
            public=own.public,
            noise=own.noise,
            bounded=own.bounded,
            first=gap._assumes,
            remarks=remarks,
            numbers={"groups": list(self.names), "composition": composition, **numbers},
            findings={**findings, **dict(zip(("assumed",), gap._assumes, strict=False))},
        )

    @property
    def _headline(self) -> str:
        return f"of {self._named if self.factors else ', '.join(self.names)} {super()._headline}"
