"""A private number of units in one cylinder with the sums over cells: privacy, counts, band and file.

Statistical assertions raise a false alarm with chance at most 1e-6 each.
"""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpfda import PrivateMean, load
from dpfda.errors import DpfdaError, StorageError
from dpfda.mechanisms import COUNT_SCALE, Design
from dpfda.mechanisms import design as designs
from dpfda.noise import BoxNoise, KNormNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import publish
from released_lines import widths_of
from statistical import Audit

GRID = np.linspace(0, 1, 25)
KEPT: dict[str, Any] = {"grid_points": GRID, "neighbours": "add-remove"}
SHARE = Fraction(9, 10)
ROOT = math.sqrt(2)


def prepared(curves: np.ndarray, epsilon: float = 1.0, **more: Any) -> Any:
    return PrivateMean(epsilon, bounds=(-1, 1), **KEPT, **more).prepare(curves)


def moves(request: Any, design: Design) -> list[int]:
    """How far one unit moves each sum over cells: from the bounds alone, cell by cell."""
    halves = request.on_grid.rule.half_widths.tolist()
    cells = design.hierarchy.cells
    starts = np.cumsum((0, *cells[:-1]))
    return [int(sum(halves[a : a + size])) for a, size in zip(starts, cells, strict=True)]


class TestPrivacy:
    @pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(50)])
    def test_count_and_sums_share_one_epsilon(self, epsilon: Fraction) -> None:
        request = prepared(np.zeros((9, 25)), epsilon).plan
        first = Fraction(COUNT_SCALE, request.count_noise.scales[0])
        for units in (1, 30, 400, 10**5):
            design = request.design(units)
            assert isinstance(design.noise, BoxNoise)
            *scales, count = design.noise.scales
            ratios = [Fraction(w, b) for w, b in zip(moves(request, design), scales, strict=True)]
            # A unit at the bounds everywhere moves all of them and the count at once: the largest ratio.
            loss = max(*ratios, Fraction(COUNT_SCALE, count))
            assert first + loss <= epsilon
            # All of the share is spent, on both: nothing is a factor sqrt(2) too private.
            assert min(max(ratios), Fraction(COUNT_SCALE, count)) > SHARE * epsilon * (
                1 - Fraction(1, 10**4)
            )

    def test_rounded_draws_of_two_dimensions_keep_to_the_ratio_exactly(self) -> None:
        # One sum that moves by up to 3 and a count that moves by 1, in noise of scales 4 and 2.
        noise = BoxNoise((4, 2))
        sizes = (3, 1)
        told = noise.achieved("box", sizes, PureDP(1))
        assert told == PureDP(Fraction(3, 4))
        table = rounded_chances(noise.scales, 60)
        assert table.sum() == pytest.approx(1, abs=1e-4)
        worst = 0.0
        for move in range(-3, 4):
            for count in (-1, 1):
                shifted = np.roll(table, (move, count), axis=(0, 1))[5:-5, 5:-5]
                worst = max(worst, float(np.abs(np.log(shifted / table[5:-5, 5:-5])).max()))
        assert 0.75 / 1.01 < worst <= 0.75 + 1e-4
        drawn = np.array([noise.draw() for _ in range(4000)])
        for place in ((0, 0), (3, 1), (-5, 2), (1, -3)):
            hits = int(np.sum(np.all(drawn == place, axis=1)))
            chance = float(table[place[0] + 60, place[1] + 60])
            assert binom.ppf(5e-7, 4000, chance) <= hits <= binom.isf(5e-7, 4000, chance)

    def audit(self, cut: float) -> Audit:
        """One data set and the same with a unit more, at the upper bound everywhere."""
        fewer = np.zeros((2, 25))
        pair = [prepared(curves) for curves in (fewer, np.vstack([fewer, np.full(25, 7.0)]))]
        request = pair[0].plan
        design = request.design(2)
        sums = [request.measure(each.total, design) for each in pair]
        nothing = [0] * design.components
        exact = [
            np.array([*s.with_noise(nothing), s.count_with_noise(0, COUNT_SCALE)], float) for s in sums
        ]
        noise = BoxNoise(tuple(round(scale / cut) for scale in design.noise.scales))
        return Audit(exact, noise, float(SHARE))

    def test_an_audit_keeps_to_the_claim_and_breaks_it_where_the_noise_is_cut(self) -> None:
        assert self.audit(1.0).bound(4000) <= SHARE
        assert self.audit(ROOT).bound(8000) > SHARE

    @pytest.mark.parametrize("place", [0, -1])
    def test_noise_that_is_too_small_is_refused_before_anything_is_charged(
        self, place: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = designs.with_count

        def cut(problem: Any, design: Design) -> Design:
            made = whole(problem, design)
            scales = list(made.noise.scales)  # type: ignore[attr-defined]
            scales[place] = round(scales[place] / ROOT)
            return replace(made, noise=BoxNoise(tuple(scales)))

        monkeypatch.setattr(designs, "with_count", cut)
        monkeypatch.setattr(BoxNoise, "draw", lambda self: pytest.fail("noise was drawn"))
        ledger = MemoryLedger()
        ledger.create("data", PureDP(5), neighbours="add-remove")
        mean = PrivateMean(1.0, bounds=(-1, 1), ledger=ledger.of("data"), **KEPT)
        with pytest.raises(DpfdaError, match="which is more than"):
            mean.fit(np.zeros((9, 25)))
        assert not [row for row in ledger.history("data") if row.action == "charge"]

    @pytest.mark.parametrize("rough", [-4, 3, 40, 900])
    def test_all_but_the_noisy_integers_follows_from_the_first_count(
        self, rough: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(IntegerSum, "count_with_noise", lambda self, noise, scale: rough * scale)
        for law in (BoxNoise, KNormNoise):
            monkeypatch.setattr(law, "draw", lambda self: [0] * self.components)
        files = []
        few = np.vstack([np.full(25, 0.25), np.full(25, -0.5)])
        # Records at the centre of the bounds add nothing but to the number.
        for curves in (few, np.vstack([few, np.zeros((70, 25))])):
            ready = prepared(curves)
            release = publish(ready.total, ready.plan)
            files.append(json.loads(release.save(tmp_path / "f.json").read_text()))
            assert files[-1].pop("release_id")
            (tmp_path / "f.json").unlink()
        assert files[0] == files[1]

    def test_costs_add_up_and_the_ledger_is_charged_once(self) -> None:
        ledger = MemoryLedger()
        ledger.create("data", PureDP(5), neighbours="add-remove")
        mean = PrivateMean(1.0, bounds=(-1, 1), ledger=ledger.of("data"), **KEPT)
        release = mean.fit(np.zeros((9, 25))).release_
        assert release.certificate.stages == ("count", "function")
        parts = [cost.guarantee for cost in release.certificate.costs]
        assert added(parts) == release.guarantee == PureDP(1)
        assert ledger.remaining("data").values == (4,)
        assert Fraction(9999, 10000) < release.certificate.achieved.epsilon <= 1

    def test_a_delta_that_is_spent_elsewhere_leaves_the_count_alone(self) -> None:
        for delta, joined in ((1e-9, True), (1e-2, False)):
            request = prepared(np.zeros((9, 25)), 1.0, delta=delta).plan
            design = request.design(500)
            assert (design.counts > 0) is joined is isinstance(design.noise, BoxNoise)

    def test_only_the_default_between_bounds_joins(self) -> None:
        for more in ({"mechanism": "knorm"}, {"basis": "matern:20%:1.5"}, {"public_size": 9}):
            request = prepared(np.zeros((9, 25)), **more).plan
            assert not request.joins_count
            assert request.design(9).counts == 0


def rounded_chances(scales: tuple[int, int], reach: int) -> np.ndarray:
    """Chance of each pair of integers up to `reach`: exp(-max |z| / b) integrated over its square."""
    fine = 32
    x = (np.arange((2 * reach + 1) * fine) + 0.5) / fine - reach - 0.5
    level = np.abs(x) / scales[0]
    ends = np.abs(np.arange(2 * reach + 2) - reach - 0.5)[None, :]
    signs = np.sign(np.arange(2 * reach + 2) - reach - 0.5)
    # The integral over y from 0 to an end: flat up to scales[1] times the level, then exponential.
    flat = np.minimum(ends, scales[1] * level[:, None]) * np.exp(-level)[:, None]
    falling = np.exp(-level)[:, None] - np.exp(-np.maximum(ends / scales[1], level[:, None]))
    inside = np.diff(signs * (flat + scales[1] * falling), axis=1)
    table = inside.reshape(2 * reach + 1, fine, -1).mean(axis=1)
    # The volume: that of the box times M! for M = 2.
    return np.asarray(table / (4 * scales[0] * scales[1] * 2))


class TestCount:
    def test_two_counts_are_averaged_by_their_precision(self) -> None:
        ready = prepared(np.zeros((60, 25)))
        counts = [publish(ready.total, ready.plan).divisor for _ in range(400)]
        law = counts[0].law
        # Of few cells the count in the cylinder is far better than a tenth of epsilon makes it.
        assert law.variance < law.before.variance / 2
        both = 1 / (1 / law.variance + 1 / law.before.variance)
        errors = np.array([count.value for count in counts]) - 60
        # Kurtosis at most 6: the relative standard error of the variance is .11; five of them.
        assert np.mean(errors**2) == pytest.approx(both, rel=0.55)
        generator = np.random.default_rng(0)
        beside = counts[0].noise.simulate(generator, 100_000)[:, -1:]
        assert np.mean(law.errors(generator, 100_000, beside) ** 2) == pytest.approx(both, rel=0.05)

    def test_cells_follow_the_count_that_came_first(self) -> None:
        few, many = (
            publish(ready.total, ready.plan).hierarchy.cells
            for ready in (prepared(np.zeros((n, 25)), 20.0) for n in (3, 3000))
        )
        assert len(few) < 10
        assert len(many) == 25

    def test_streams_and_blocks_are_the_same_release(self) -> None:
        curves = np.tile(np.sin(3 * GRID), (40, 1))
        mean = PrivateMean(1e6, bounds=(-1, 1), **KEPT)
        whole = mean.fit(curves).release_
        parts = mean.partial_fit(curves[:11]).partial_fit(curves[11:]).finish().release_
        for release in (whole, parts):
            assert release.count == pytest.approx(40, abs=0.01)
            np.testing.assert_allclose(release(GRID), curves[0], atol=1e-3)


class TestBand:
    def curves(self) -> np.ndarray:
        """A level far from the middle, where an error of the count shows most, and a slow wave."""
        return 0.8 + 0.1 * np.sin(2 * np.pi * GRID)

    def test_it_holds_the_mean(self) -> None:
        mean = self.curves()
        ready = prepared(np.tile(mean, (60, 1)))
        releases = [publish(ready.total, ready.plan) for _ in range(80)]
        held = sum(release.band(0.95, points=GRID).contains(mean) for release in releases)
        assert held >= binom.ppf(1e-6, 80, 0.95)

    def test_the_error_of_the_count_is_in_it_at_its_size(self) -> None:
        ready = prepared(np.tile(np.full(25, 0.9), (1500, 1)))
        release = publish(ready.total, ready.plan)
        widths, law = widths_of(release), release.divisor.law
        alone = replace(widths, count=None)
        found = widths.typical_error**2 - alone.typical_error**2
        own = 1 / (1 / law.variance + 1 / law.before.variance)
        # 600 draws: off by less than a third, where sqrt(2) in the scale would be a factor of two.
        line = float(np.mean((widths.posterior.line - 0.5) ** 2))
        assert found == pytest.approx(line * own / release.count**2, rel=0.33)

    def test_the_measured_band_has_the_level_that_it_states(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dpfda.releases.bands.DRAWS", 2000)
        units = 1500
        ready = prepared(np.tile(self.curves(), (units, 1)))
        inside = 0
        for _ in range(200):
            release = publish(ready.total, ready.plan)
            source = release.unshrunk
            design = ready.plan.design(max(1, round(release.divisor.before.value)))
            exact = ready.plan.measure(ready.total, design).with_noise([0] * design.components)
            means = np.array(exact, dtype=float) * 2.0**-release.exponent / units
            hidden = release.center + release.basis.evaluate(GRID) @ (source.synthesis @ means)
            inside += release.band(0.9, points=GRID, exact=True).contains(hidden)
        assert binom.ppf(5e-7, 200, 0.88) <= inside <= binom.isf(5e-7, 200, 0.94)


class TestFile:
    def written(self, tmp_path: Path) -> tuple[Any, Path, dict[str, Any]]:
        release = PrivateMean(1.0, bounds=(-1, 1), **KEPT).fit(np.zeros((30, 25))).release_
        path = release.save(tmp_path / "release.json")
        return release, path, json.loads(path.read_text())

    def test_it_comes_back(self, tmp_path: Path) -> None:
        release, path, _ = self.written(tmp_path)
        again = load(path)
        assert again.divisor == release.divisor
        np.testing.assert_array_equal(again(GRID), release(GRID))
        np.testing.assert_array_equal(again.band().upper, release.band().upper)
        assert "of which the number of records is the last" in repr(again)

    def test_parts_that_contradict_each_other_are_refused(self, tmp_path: Path) -> None:
        _, path, written = self.written(tmp_path)
        scales = written["noise"]["scales"]

        def without_rough(file: dict[str, Any]) -> None:
            del file["divisor"]["before"]

        def other_law(file: dict[str, Any]) -> None:
            file["divisor"]["noise"]["scales"] = [*scales[:-1], 2 * scales[-1]]

        def too_small(file: dict[str, Any]) -> None:
            for law in (file["noise"], file["divisor"]["noise"]):
                law["scales"] = [*scales[:-1], round(scales[-1] / ROOT)]

        def nested(file: dict[str, Any]) -> None:
            file["divisor"]["before"] = dict(file["divisor"])

        for damage in (without_rough, other_law, too_small, nested):
            file = json.loads(path.read_text())
            damage(file)
            broken = tmp_path / "broken.json"
            broken.write_text(json.dumps(file))
            with pytest.raises(StorageError, match="damaged"):
                load(broken)
