"""Normal noise of several stages that is charged once: regression on curves, clusters, the sampler.

The sampler's own tests hold its scales and files; here are those that all three have in common.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant

from dpfda import PrivacyUnit, PrivateCurveClusters, PrivateCurveSampler, PrivateScalarOnFunction, load
from dpfda.clusters.estimator import CELLS, SUMS
from dpfda.clusters.stages import ball_of
from dpfda.errors import StorageError
from dpfda.noise import gaussian_ratio
from dpfda.privacy.composition import GaussianLoss
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger

GRID = np.linspace(0, 1, 60)
GUARANTEES: list[tuple[dict[str, Any], Guarantee]] = [
    ({"epsilon": 1, "delta": "1e-5"}, ApproximateDP(Fraction(1), Fraction(1, 100_000))),
    ({"rho": 0.05}, ZeroConcentratedDP(Fraction(1, 20))),
]
MADE: dict[str, Callable[..., Any]] = {
    "regression": lambda **given: PrivateScalarOnFunction(
        bounds=(-2, 2), target_bounds=(-3, 3), covariates={"age": (20, 80)}, **given
    ),
    "clusters": lambda **given: PrivateCurveClusters(bounds=(-2, 2), **given),
    "sampler": lambda **given: PrivateCurveSampler(bounds=(-2, 2), **given),
}


def stages(plan: Any) -> list[tuple[str, float, float]]:
    """Name, deviation of the noise and the length by which one unit moves the sum, by hand."""
    design, two = plan.design, 2 if plan.neighbours is Neighbours.REPLACE_ONE else 1
    found = [("mean", design.mean_noise.scales[0], two * design.ball.radius)]
    # A bin for another: the root of two bins, of one where nobody takes the place.
    found += [("length", each.noise.scales[0], two**0.5 * 2**20) for each in design.choices]
    # |cc' - dd'|_F^2 is at most 2 R^4.
    square = design.outer.radius**2
    found += [("step", law.scale, two**0.5 * square) for law in design.laws.values()]
    own = {
        "scores": two**0.5 * 7**0.5 * 2**20, CELLS: two**0.5 * 2**20,
        # One vector of length R for another, perhaps in the block of the same cluster.
        SUMS: two * ball_of(plan.basis.eigenvalues.size).radius,
    }  # fmt: skip
    return found + [(name, law.scales[0], own[name]) for name, law in plan.laws.items()]


@pytest.mark.parametrize(("given", "guarantee"), GUARANTEES, ids=["delta", "rho"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("name", "count"), [("regression", 7), ("clusters", 6), ("sampler", 7)])
def test_all_stages_are_one_normal_law_of_the_whole_budget(
    name: str, count: int, given: dict[str, Any], guarantee: Guarantee, neighbours: Neighbours
) -> None:
    """Fails for one scale that is wrong by sqrt(2) either way: mu would move by .5 per cent or more."""
    unit = PrivacyUnit("person", str(neighbours), 5000 if neighbours is Neighbours.ADD_REMOVE else None)
    plan = MADE[name](unit=unit, **given).plan(5000, GRID)
    made = stages(plan)
    assert len(made) == count
    shares = [(width / scale) ** 2 for _, scale, width in made]
    assert min(shares) / sum(shares) > 0.02
    mu = math.sqrt(sum(shares))
    assert mu == pytest.approx(float(gaussian_ratio(guarantee)), rel=1e-5)
    certificate = plan.certified()
    assert certificate.guarantee == guarantee
    assert certificate.stages == ("all together",)
    assert isinstance(certificate.costs[0].loss, GaussianLoss)
    assert within(plan.whole_achieved(), guarantee)


@pytest.mark.parametrize("name", MADE)
def test_another_library_adds_stages_up_to_the_same(name: str) -> None:
    plan = MADE[name](epsilon=1, delta="1e-5").plan(5000, GRID)
    accountant = PLDAccountant()
    for _, scale, width in stages(plan):
        accountant.compose(GaussianDpEvent(scale / width))
    assert accountant.get_epsilon(1e-5) == pytest.approx(1, rel=2e-3)


def fitted(name: str, **given: Any) -> Any:
    random = np.random.default_rng(1)
    curves = 0.1 * random.normal(size=(40, 1)) * np.cos(3 * GRID)
    more = (curves[:, 0], random.uniform(20, 80, 40)) if name == "regression" else ()
    return MADE[name](**given).fit(curves, *more).release_


@pytest.mark.parametrize("name", ["regression", "clusters"])
def test_noise_has_its_scale_at_every_stage(name: str) -> None:
    """A few units are nothing beside it. Deviations of pooled spreads are at most 4 per cent."""
    found, plan = dict[str, list[float]](), MADE[name](epsilon=0.01, delta=1e-5).plan(40, GRID)
    for _ in range(60):
        release = fitted(name, epsilon=0.01, delta=1e-5)
        moments = release.moments
        numbers = {"mean": (moments.mean_sum, plan.design.mean_noise)}
        for place, each in enumerate(plan.design.choices):
            numbers[f"length {place}"] = moments.selections[place].noisy_counts, each.noise
        for place, law in enumerate(plan.design.laws.values()):
            numbers[f"step {place}"] = moments.steps[place].noisy_sum, law
        if name == "clusters":
            numbers["cells"] = release.cells, plan.laws[CELLS]
        for stage, (held, law) in numbers.items():
            deviations = np.sqrt(law.variances())[: len(held)]
            found.setdefault(stage, []).extend(np.array(held, dtype=float) / deviations)
    assert len(found) == (7 if name == "regression" else 5)
    for stage, held in found.items():
        assert 2**-0.25 < np.std(held) < 2**0.25, stage


@pytest.mark.parametrize("name", MADE)
def test_one_charge_pays_for_all(name: str) -> None:
    ledger = MemoryLedger()
    ledger.create("data", ZeroConcentratedDP(Fraction(1)), unit="record")
    release = fitted(name, rho="1/2", ledger=ledger.of("data"))
    assert ledger.spent("data").values == (Fraction(1, 2),)
    assert release.certificate.stages == ("all together",)


def scales(written: Any) -> list[dict[str, Any]]:
    """Entries of all noise in a file."""
    held = list(written.values()) if isinstance(written, dict) else written
    below = [each for part in held if isinstance(part, dict | list) for each in scales(part)]
    noise = isinstance(written, dict) and str(written.get("law", "")).endswith("gaussian")
    return [written, *below] if noise else below


@pytest.mark.parametrize("name", MADE)
def test_files_with_less_noise_or_other_charges_are_refused(name: str, tmp_path: Path) -> None:
    path = fitted(name, epsilon=150, delta=1e-5).save(tmp_path / "release.json")
    load(path)
    whole = path.read_text()
    # Of the regression a mean, three lengths and three steps.
    count = {"regression": 7, "clusters": 6, "sampler": 7}[name]
    assert len(scales(json.loads(whole))) == count

    def refused(written: Any) -> None:
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            load(path)

    for place in range(count):
        written = json.loads(whole)
        noise = scales(written)[place]
        if "scales" in noise:
            noise["scales"] = [scale // 2 for scale in noise["scales"]]
        else:
            noise["scale"] //= 2
        refused(written)
    written = json.loads(whole)
    written["costs"][0]["stage"] = "mean"
    refused(written)
