"""The plan of a density: its cells or elements, and the noise on their sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from dpfda.bases.cells import CLOSE, CellGrid, Domain, box_domain
from dpfda.bases.ordinary import Outlook
from dpfda.bases.scales import Scale, read_scale
from dpfda.density.atoms_release import ReleasedDensityWithAtoms
from dpfda.density.cell_errors import check_lengths, choose_cells, lattice_cells
from dpfda.density.histogram_release import ReleasedHistogram, noise_words
from dpfda.density.kernel import GRID, DensityKernel, Elements
from dpfda.density.made_up import (
    MadeUp,
    UnevenTrial,
    Units,
    ordinary_units,
    simulated,
    stretch,
    without_noise,
)
from dpfda.density.quantiles_design import zoomed
from dpfda.density.release import ReleasedDensity
from dpfda.density.second_look import SecondLook
from dpfda.estimates.histospline import LARGEST_CELLS, check_smoothing, expected_error
from dpfda.noise import AnyNorm, Calibrated, NoiseLaw, cost_of
from dpfda.noise.shares import EXPONENT, share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known, shown, whole
from dpfda.numerics.words import several
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, pure_part
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import (
    Prepared,
    Trial,
    TriedPlan,
    charge,
    planner,
    publish_integers,
    recomputed,
    stamp,
)
from dpfda.publication.distances import Draw
from dpfda.publication.planners import ORDINARY, Designed, large
from dpfda.publication.zoom import Zoom, far_enough, zoom_for, zoomed_part
from dpfda.releases.words import points_words
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings, read_labels

# How far sets lie apart, without and with a guess: on half of the sets nine in ten keep to what most do.
APART = 0.9, 0.6


@dataclass(frozen=True, eq=False, repr=False)
class DensityPlan(TriedPlan, Designed):
    """Plan of a density.

    cells: On a scale, from 0 to 1, where there is one or will be.
    noise: On the sum of shares of cells, or of elements.
    norm, width: Neighbouring data sets move the integers by at most `width` in this norm.
    counted: What the noise on the sum gives: without delta where it needs none.
    size: Public number of units; None under add/remove.
    designed: Public number of units that the design is for.
    kernel, elements: Of the kernel estimate.
    public_scale: A public one, on which cells are equal.
    zoom: How a scale will be chosen.
    step: Distance of the values that there can be; the cells lie around these.
    unplaced: On the counts where the choice leaves cells equal on the domain, if that costs less.
    quarter: Expected length of the shortest stretch with a quarter of the units, in domains.
    """

    cells: CellGrid
    noise: NoiseLaw
    norm: AnyNorm
    width: int
    counted: Guarantee
    neighbours: Neighbours
    unit: str
    size: int | None
    designed: int | None
    smoothing: str | float
    about: Mapping[str, object]
    kernel: DensityKernel | None = None
    elements: Elements | None = None
    public_scale: Scale | None = None
    zoom: Zoom | None = None
    step: float | None = None
    unplaced: NoiseLaw | None = None
    quarter: float | None = None
    BANDS: ClassVar[int] = 5

    @property
    def noises(self) -> tuple[NoiseLaw, NoiseLaw]:
        """On the counts where a place is chosen, and where none is."""
        return self.noise, self.unplaced or self.noise

    @cached_property
    def looks(self) -> tuple[SecondLook, SecondLook] | None:
        """Into cells with peaks, in either case, checked; None where not pure epsilon is charged."""
        zoom, pure = self.zoom, isinstance(self.counted, PureDP)
        if zoom is None or not pure or self.smoothing != "adaptive" or self.cells.atoms:
            return None
        parts = self.counted, added([zoom.parts[1], self.counted])
        first, second = map(partial(SecondLook.of, self.width, zoom.size), self.noises, parts)
        return first, second

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged, for everything."""
        parts = [] if self.zoom is None else self.zoom.parts
        return added([*parts, self.counted])

    @property
    def domain_range(self) -> Domain:
        """Ends of the domain, in the units of the data."""
        if self.step is not None:
            ((a, b),) = self.cells.domain_range
            return ((a + self.step / 2, b - self.step / 2),)
        scaled = self.zoom or self.public_scale
        return self.cells.domain_range if scaled is None else box_domain(scaled.domain_range)

    @property
    def placed(self) -> CellGrid:
        """The cells in the units of the data, where they follow from public numbers."""
        return self.cells if self.public_scale is None else self.cells.along(self.public_scale)

    @property
    def bounded(self) -> dict[str, object]:  # type: ignore[override]
        if self.elements is None:
            return {"description": "one cell a unit"}
        return {"description": points_words(len(self.elements.integers))}

    @property
    def functions(self) -> str:
        if self.zoom is None and self.public_scale is None:
            return self.cells.describe()
        a, b = self.domain_range[0]
        words = f"{self.cells.size} cells, equal on a public scale of [{a:g}, {b:g}]"
        if self.zoom is not None:
            words = words.replace("a public scale", "a scale chosen privately")
            words += ", or on that itself where units are spread widely"
        if self.looks is not None:
            share = float(self.looks[0].share)
            words += f"; parts of those that show peaks, for {share:.1%} of what counts cost, if any do"
        return words + self.cells.atoms_words

    @property
    def tuning(self) -> dict[str, object]:
        if self.kernel is None:
            numbers: Json = {"name": "histogram", "cells": list(self.cells.shape)}
            numbers["noise"] = noise_words(self.noise)
            if self.zoom or self.public_scale:
                numbers["scale"] = "zoom" if self.zoom else "public"
            return numbers | ({"atoms": list(self.cells.atoms)} if self.cells.atoms else {})
        return {"name": "kernel", "eta": float(self.kernel.eta), "noise": self.kernel.noise}

    def entry(self) -> dict[str, object]:
        if self.kernel is None:
            return super().entry()
        name = f"kernel, eta {self.kernel.eta:g}, {self.kernel.noise} noise"
        return super().entry() | {"mechanism": name}

    def costs(self) -> dict[str, Cost]:
        achieved = recomputed(self.noise, self.norm, self.width, self.counted)
        counts = cost_of(self.noise, achieved, self.counted)
        if self.zoom is None:
            return {WHOLE: counts}
        width, place = (Cost(part) for part in self.zoom.parts)
        if self.unplaced is None:
            return {"width of an interval": width, "place of the interval": place, "counts": counts}
        # The one or the other: no more is known of the loss than what both are within.
        rest = added([self.zoom.parts[1], self.counted])
        recomputed(self.unplaced, self.norm, self.width, rest)
        return {"width of an interval": width, "place and counts": Cost(rest)}

    def weighted(self, largest: float, **changed: object) -> Self:
        if self.kernel is not None:
            raise ParameterError("weights", "be $none but for a histogram", shown(largest))
        zoom = None if self.zoom is None else replace(self.zoom, weighted=True)
        return super().weighted(largest, zoom=zoom, **changed)

    # What to expect.

    def trials(self, count: int) -> list[Trial]:
        """Of points with ordinary densities on an interval, with simulated noise and choices.

        The truth is what an unlimited budget would publish of the same points.
        """
        if self.kernel is not None or self.n is None or self.cells.dimensions > 1 or self.again is None:
            return []
        unlimited = self.remade(large(self.guarantee), self.n)
        (ends,) = self.cells.domain_range if self.zoom is None else self.domain_range
        trials = list[Trial]()
        for place, units in enumerate(ordinary_units(count, self.n, ends, self.quarter)):
            # The same for all plans, as far as they have as many counts.
            generator = np.random.Generator(np.random.Philox([2, place]))
            release = self._of_made_up(units, partial(simulated, generator))
            trials.append(UnevenTrial.of(release, unlimited._of_made_up(units, without_noise)))
        return trials

    def _of_made_up(self, units: MadeUp, draw: Draw) -> ReleasedDensity:
        if self.zoom is not None:
            return self.of_units(units, self.certified(), draw)
        total = IntegerSum.of(units.shares(self.cells))
        return self.assemble(total.with_noise(draw(self.noise)), self.certified())

    @property
    def apart(self) -> float:
        return APART[self.quarter is not None]

    bands_apart = apart

    def outlook(self, quick: bool = False) -> Outlook | None:
        if self.kernel is not None or self.n is None or self.cells.dimensions == 1:
            return super().outlook(quick)
        privacy = math.ldexp(math.sqrt(float(self.noise.variances()[0])), -EXPONENT) / self.n
        square = expected_error(self.cells, privacy**2, float(self.n))
        return Outlook.alike(math.sqrt(square) * self.scale[0])

    @property
    def error_words(self) -> str:
        if self.kernel is not None:
            return "none can be stated for the kernel estimate, whose bias depends on the density"
        if self.cells.dimensions > 1:
            return (
                "root mean square at a point, from the density of the population, sampling included, for"
                " densities with features of a tenth of an axis"
            )
        unseen = "; values that many have exactly, such as zero, add to it ('atoms' states them)"
        unseen = "" if self.step or self.cells.atoms else unseen
        over = (
            "of a few hills that fill the interval; several times as large where most lie close together"
        )
        if self.quarter is not None:
            ((a, b),) = self.domain_range
            over = f"of which a quarter lies within {(b - a) * self.quarter:.4g}"
        elif self.public_scale is None:
            over += " ('quarter' tells the plan how long the shortest stretch with a quarter of them is)"
        return (
            "root mean square at a point, from what an unlimited budget would publish of these "
            f"{several(self.unit)}, {ORDINARY} densities {over}{unseen}"
        )

    @property
    def scale(self) -> tuple[float, str]:
        height = 1 / math.prod(end - start for start, end in self.domain_range)
        return height, "the height of a uniform density"

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {noise_words(self.noise)}"

    def total(self, weights: list[int]) -> list[int]:
        """The integers that get noise, from the sum of the shares of cells. Private like these."""
        return weights if self.elements is None else self.elements.total(weights)

    def of_units(self, units: Units, certificate: Certificate, draw: Draw) -> ReleasedDensity:
        """The release of points whose cells are chosen first; the caller has charged for all."""
        looks, count = self.looks, self.cells.size
        noises = self.noises if looks is None else (looks[0].both, looks[1].both)
        scale, noisy = zoomed(units, known(self.zoom), noises, draw)
        if looks is not None:
            look, noisy, more = looks[scale is None], noisy[:count], noisy[count:]
            release = self.assemble(more, certificate, scale)
            release = replace(release, raw=replace(release.raw, noise=look.both.wider))
            inside = look.inside_of(release, units, scale, draw)
            if inside is not None:
                return replace(release, inside=inside)
        return self.assemble(noisy, certificate, scale)

    def assemble(
        self, noisy: tuple[int, ...], certificate: Certificate, scale: Scale | None = None
    ) -> ReleasedDensity:
        """The released density around the noisy sum: post-processing; scale: the one that was chosen."""
        scale = scale or self.public_scale
        # Where none was chosen, cells are equal on the domain.
        regular = scale is None and self.zoom is not None
        shared: Json = {
            "public_size": self.size,
            "noise": self.noises[regular],
            "certificate": certificate,
            "about": {**self.about, **stamp()},
        }
        if self.kernel is None or self.elements is None:
            cells, atoms = self.cells, self.cells.atoms
            if regular:
                cells = CellGrid.regular(cells.size, self.domain_range).with_atoms(atoms)
            elif scale is not None and atoms:
                at = np.clip(scale.positions(np.array(atoms)[:, None])[:, 0], 0.0, 1.0)
                cells = replace(cells, atoms=tuple(at.tolist()))
            histogram = ReleasedHistogram(
                cells=cells, noisy_counts=noisy, exponent=EXPONENT, smoothing=self.smoothing, **shared
            )
            if atoms:
                return ReleasedDensityWithAtoms(histogram, scale, stated=atoms)
            return ReleasedDensity(histogram, scale, self.step)
        return ReleasedDensity(self.kernel.release(self.elements, noisy, EXPONENT, shared))


@planner
def density_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    cells: object,
    noise: str,
    smoothing: str | float,
    unit: str,
    kernel: DensityKernel | None = None,
    planned: bool = False,
    scale: object = "auto",
    quarter: float | None = None,
) -> DensityPlan:
    """The plan of a density; parameters as of `planner` and `DensityPlan`.

    cells: By default chosen.
    scale: "auto", "linear", "log", "zoom", an array or a callable.
    quarter: Expected length of the shortest stretch of an interval with a quarter of the units.
    """
    neighbours, step = settings.unit.relation, settings.domain.step
    # Where their number is private, nobody need be there.
    size, designed = sizes_for(settings, max(count, 2) if settings.unit.private else count, planned)
    public_scale, zoom, rest, atoms = None, None, guarantee, settings.domain.atoms or ()
    part = Fraction(1)
    ends = cells.domain_range if isinstance(cells, CellGrid) else settings.domain.ends
    check_lengths(ends)
    if not isinstance(cells, CellGrid):
        domain = box_domain(settings.domain.ends)
        plain = kernel is None and len(domain) == 1 and isinstance(smoothing, str)
        scale = scale if step is None else _whole_steps(scale, kernel)
        if isinstance(scale, str) and scale == "auto":
            may = plain and cells is None and designed is not None and far_enough(domain[0])
            part = zoomed_part(designed or 0, guarantee) if may else Fraction(0)
            scale = "zoom" if part else "linear"
        elif not plain and not (isinstance(scale, str) and scale == "linear"):
            words = "be 'auto' or 'linear' but for a histogram on an interval without a bandwidth"
            raise ParameterError("scale", words, shown(scale))
        if isinstance(scale, str) and scale == "zoom":
            number = stated_size(designed, "scale")
            zoom, rest = zoom_for(domain[0], number, guarantee, neighbours, part=part)
            zoom = replace(zoom, atoms=tuple(atoms))
        else:
            public_scale = read_scale(scale, domain)
        if cells is None and kernel is not None:
            cells = CellGrid.regular(GRID[len(domain)], domain)
        else:
            if cells is None:
                number = stated_size(designed, "cells")
                cells = choose_cells(number, len(domain), rest, neighbours, noise)
            scaled = public_scale is not None or zoom is not None
            if step is None:
                cells = CellGrid.regular(cells, (0.0, 1.0) if scaled else domain)  # type: ignore[arg-type]
            else:
                cells = lattice_cells(domain, step, whole(cells, "cells", 1, LARGEST_CELLS))
    cells = _beside(atoms, cells, settings, kernel) if atoms else cells
    about = {"summary": "density", **read_labels(settings.domain.labels, boxes=True)}
    elements, unplaced = None, None
    if kernel is None:
        check_smoothing(smoothing, cells, "bandwidth")
        law, charged, norm, width = share_noise(cells.places, rest, neighbours, noise)
        unplaced = None if zoom is None else _unplaced(zoom, charged, cells, smoothing)
    else:
        elements = kernel.elements(cells, stated_size(designed, "public_size"))
        norm, width = elements.norm, elements.width(neighbours) << EXPONENT
        charged = guarantee if elements.gaussian else pure_part(guarantee)
        law = elements.law(width, charged)
    return DensityPlan(
        cells, law, norm, width, charged, neighbours, unit, size, designed, smoothing, about, kernel,
        elements, public_scale, zoom, None if step is None else float(step), unplaced,
        None if quarter is None else stretch(quarter, box_domain(ends), public_scale),
    )  # fmt: skip


def _beside(
    atoms: Sequence[float], cells: CellGrid, settings: Settings, kernel: DensityKernel | None
) -> CellGrid:
    """The cells with places for atoms, in the units of the data; nothing is counted at two of these."""
    for name, value in (("step", settings.domain.step), ("mechanism", kernel)):
        if value is not None:
            raise ParameterError(name, "be left out with atoms", shown(value))
    domain = CellGrid.regular(1, settings.domain.ends)
    if any(b - a <= 4 * CLOSE * domain.volume for a, b in pairwise(domain.with_atoms(atoms).atoms)):
        words = f"be farther apart than {4 * CLOSE:g} of the domain"
        raise ParameterError("atoms", words, shown(list(atoms)))
    return replace(cells, atoms=tuple(atoms))


def _unplaced(
    zoom: Zoom, charged: Guarantee, cells: CellGrid, smoothing: str | float
) -> NoiseLaw | None:
    """The law of counts of cells that are equal on the domain, where no place is chosen.

    They get the part of the place too, where all is pure.
    """
    check_smoothing(smoothing, CellGrid.regular(cells.size, zoom.domain_range), "bandwidth")
    if not isinstance(charged, PureDP):
        return None
    return share_noise(cells.places, added([zoom.parts[1], charged]), zoom.neighbours, "laplace")[0]


def _whole_steps(scale: object, kernel: DensityKernel | None) -> str:
    """The scale of a lattice: its own axis, in cells of counts."""
    if not (isinstance(scale, str) and scale in ("auto", "linear")):
        raise ParameterError("scale", "be 'linear' with a step", shown(scale))
    if kernel is not None:
        raise ParameterError("mechanism", "be 'histogram' with a step", "a kernel estimate")
    return "linear"


def publish_density(prepared: Prepared[DensityPlan, Any], paying: Paying = NAMED) -> ReleasedDensity:
    """Charge, draw, add: the released density."""
    plan = prepared.plan
    if plan.zoom is not None:
        certificate = plan.certified()
        plan.zoom.check()
        # Made, and so checked, before anything is charged.
        _ = plan.looks
        charge(paying, certificate, plan.entry())
        return plan.of_units(prepared.total, certificate, lambda law: law.draw())
    noisy, certificate = publish_integers(
        prepared.total, Calibrated(plan.noise, plan.counted, plan.norm, plan.width), plan.entry(),
        paying, plan.tuning,
    )  # fmt: skip
    return plan.assemble(noisy, certificate)
