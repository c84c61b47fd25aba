"""The plan of group means under one budget, and what is published of their sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import MeanPlan, PlanOfMeans, Prepared, publish_parallel
from dpfda.publication.accounts import NAMED, Paying
from dpfda.releases.comparison import ReleasedComparison

# Units that noise is tuned for where no group's size is public.
DESIGN_SIZE = 100


def design_size(asked: int | None, sizes: Sequence[int]) -> int:
    """What noise is tuned for, the same for all groups: as asked, or the smallest public size."""
    return max(1, min(sizes, default=DESIGN_SIZE)) if asked is None else asked


@dataclass(frozen=True, eq=False)
class ComparisonPlan(PlanOfMeans):
    """Plan of the means of disjoint groups, of which each has the whole budget.

    Parameters
    ----------
    parts : mapping
        Plan of each group's mean, by its name.
    mechanism : str
        As it was asked for.
    design_size : int, optional
        What noise is tuned for, where it was asked for; else the smallest public size.
    """

    parts: Mapping[str, MeanPlan]
    mechanism: str
    design_size: int | None = None

    @property
    def one(self) -> MeanPlan:
        return next(iter(self.parts.values()))

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        return {**self.one.about, "summary": "mean curves of groups"}

    @property
    def tuning(self) -> Mapping[str, object]:
        return {"name": self.mechanism}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": list(self.parts), "composition": "parallel"}

    def costs(self) -> dict[str, Cost]:
        return self.one.costs()

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> ComparisonPlan:
        """The plan for another guarantee, and n units in each group."""
        return self.of_sizes([n] * len(self.parts), guarantee)

    def of_sizes(self, sizes: Sequence[int], guarantee: Guarantee | None = None) -> ComparisonPlan:
        """The plan for groups of these sizes."""
        made = dict(zip(self.parts, sizes, strict=True))
        known = [size for name, size in made.items() if self.parts[name].size is not None]
        size = design_size(self.design_size, known)
        parts = {
            name: replace(part, mechanism=replace(part.mechanism, size=size)).at(
                made[name], guarantee=guarantee
            )
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts)

    @property
    def n(self) -> int | None:
        """Of the smallest group."""
        return min((part.n for part in self.parts.values() if part.n), default=None)

    def expected(self, quick: bool = False) -> float | None:
        found = [part.expected(quick) for part in self._sizes()]
        return max((error for error in found if error is not None), default=None)

    def _sizes(self) -> list[MeanPlan]:
        """One plan of each size of group."""
        return [*{part.n: part for part in self.parts.values()}.values()]

    @property
    def error_words(self) -> str:
        said = self.one.error_words
        return f"of each group's mean, the largest (of a difference up to 1.4 times as much); {said}"

    def half_width(self, level: float) -> float | None:
        found = [part.half_width(level) for part in self._sizes()]
        return max((width for width in found if width is not None), default=None)

    @property
    def noise_words(self) -> str:
        return self.one.noise_words


def publish_comparison(
    prepared: Mapping[str, Prepared[MeanPlan, IntegerSum]], mechanism: str, paying: Paying = NAMED
) -> ReleasedComparison:
    """Charge once, draw noise for every group, and release; parameters as in `publish_parallel`."""
    plan = ComparisonPlan({name: part.plan for name, part in prepared.items()}, mechanism)
    pairs = [(part.total, part.plan) for part in prepared.values()]
    released = publish_parallel(pairs, plan.entry(), paying)
    return ReleasedComparison(dict(zip(prepared, released, strict=True)))
