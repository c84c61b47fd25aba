"""Releases of one mean as one: weights, band, guarantee, refusals."""

import json
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import Domain, PrivacyUnit, PrivateMean, load
from dpfda.bounds import L2Ball
from dpfda.errors import NotCoveredError, ParameterError, StorageError
from dpfda.estimates import joint
from dpfda.estimates.joint import joined
from dpfda.front.app import app
from dpfda.privacy.caveats import Caveat
from dpfda.privacy.composition import account
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, largest
from dpfda.releases.combined import APART, CombinedMean, measured
from dpfda.releases.distance import average_at_most, side_quantile
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import check_release
from released_lines import widths_of

GRID = np.linspace(0.0, 1.0, 24)
MEAN = 0.5 + 0.3 * np.sin(5 * GRID)


def released(n: int = 500, epsilon: Any = 1.0, **given: Any) -> ReleasedFunction:
    curves = np.tile(MEAN, (n, 1))
    made = {"bounds": (0, 1), "domain": Domain(GRID), "unit": "home", **given}
    release: ReleasedFunction = PrivateMean(epsilon, **made).fit(curves).release_
    return release


# Default lines of a private number of units are averaged.
COUNTED = PrivacyUnit("home", "add-remove")


def test_values_are_averages_by_the_squares_of_typical_errors() -> None:
    # Without the distances of their lines, by which bands are proved.
    first, second = (replace(released(n, unit=COUNTED), distance=None) for n in (300, 900))
    both = first.combined(second)
    sizes = [widths_of(release).typical_error ** 2 for release in (first, second)]
    assert both.share == pytest.approx(sizes[1] / sum(sizes), rel=1e-12)
    assert both.share < 0.5
    np.testing.assert_allclose(
        both(GRID), both.share * first(GRID) + (1 - both.share) * second(GRID), rtol=0, atol=1e-15
    )
    assert second.combined(first).share == pytest.approx(1 - both.share, rel=1e-12)
    band = both.band(0.95, points=GRID)
    # A band that is cut at a bound says by its farther end how far off the line may be.
    halves = [r.band(0.95, points=GRID).reach(r(GRID)) for r in (first, second)]
    # What lines smooth away is common to them: their errors are not independent.
    wanted = both.share * halves[0] + (1 - both.share) * halves[1]
    np.testing.assert_allclose((band.upper - band.lower) / 2, wanted, rtol=1e-12)


def test_bands_for_the_noise_alone_add_up_as_independent_errors() -> None:
    first, second = (released(n, bounds=L2Ball(1.0), mechanism="laplace") for n in (300, 900))
    both = first.combined(second)
    halves = [
        (end.upper - end.lower) / 2 for end in (r.band(0.95, points=GRID) for r in (first, second))
    ]
    band = both.band(0.95, points=GRID)
    wanted = np.hypot(both.share * halves[0], (1 - both.share) * halves[1])
    np.testing.assert_allclose((band.upper - band.lower) / 2, wanted, rtol=1e-12)


def test_two_of_a_kind_are_more_exact_than_either_and_their_band_holds() -> None:
    errors, held = [], 0
    for _ in range(40):
        parts = released(), released()
        both = parts[0].combined(parts[1])
        errors.append([np.sum((r(GRID) - MEAN) ** 2) for r in (*parts, both)])
        band = both.band(0.95, points=GRID)
        held += int(np.all((band.lower <= MEAN) & (band.upper >= MEAN)))
    one, other, together = np.sqrt(np.mean(errors, axis=0))
    # By simulation this ratio is .70, with a deviation of .023; of one release alone it is about 1.
    assert together < 0.87 * (one + other) / 2
    assert held >= 36


def test_the_certificate_is_that_of_both_together(tmp_path: Path) -> None:
    first, second = released(), released(epsilon="1/2", delta=1e-6, mechanism="gaussian")
    with pytest.raises(ParameterError, match="with a band for the same"):
        first.combined(second)
    other = released(epsilon="1/2")
    both = first.combined(other)
    assert both.guarantee == PureDP("3/2")
    assert (both.unit, both.neighbours) == (first.unit, first.neighbours)
    check_release(both)
    again = load(both.save(tmp_path / "both.json"))
    assert isinstance(again, CombinedMean)
    assert again.to_json() == both.to_json()
    np.testing.assert_array_equal(again(GRID), both(GRID))
    assert "if it is the same in both" in " ".join(both.describe().split())
    gaussian = second.combined(released(epsilon=1.0, delta=1e-6, mechanism="gaussian"))
    assert gaussian.guarantee == ApproximateDP("3/2", "2e-6")
    assert 0 < gaussian.share < 0.5


def test_a_file_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    file = released().combined(released()).save(tmp_path / "both.json")
    written = json.loads(file.read_text())
    written["second"] = written["first"]
    file.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(file)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: released(unit="person"), "other must protect the same units"),
        (lambda: released(domain=Domain(GRID * 2)), "other must be of a mean on the same domain"),
        (lambda: released().derivative(), "other must be of a mean on the same domain"),
        (lambda: released(bounds=L2Ball(1.0), mechanism="laplace"), "with a band for the same"),
        (lambda: released().combined(released()).band(0.95), "other must be a released mean curve"),
        (lambda: MEAN, "other must be a released mean curve"),
    ],
)
def test_what_is_not_of_one_mean_is_refused(other: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        released().combined(other())


def test_one_charge_is_not_combined_with_itself() -> None:
    release = released()
    with pytest.raises(ParameterError, match="of another charge than what it is combined with"):
        release.combined(release)


def test_an_average_of_averages_is_that_of_all_by_their_precisions() -> None:
    parts = []
    for n, epsilon, points in ((300, 1, 24), (900, "1/2", 12), (200, 2, 60)):
        grid = np.linspace(0.0, 1.0, points)
        own = PrivateMean(epsilon, bounds=(0, 1), domain=Domain(grid), unit=COUNTED)
        parts.append(own.fit(np.tile(0.5 + 0.3 * np.sin(5 * grid), (n, 1))).release_)
    together = parts[0].combined(parts[1]).combined(parts[2])
    weights = np.array([widths_of(part).typical_error ** -2 for part in parts])
    wanted = sum(w * part(GRID) for w, part in zip(weights / weights.sum(), parts, strict=True))
    np.testing.assert_allclose(together(GRID), wanted, rtol=0, atol=1e-13)
    other = parts[2].combined(parts[1].combined(parts[0]))
    np.testing.assert_allclose(together(GRID), other(GRID), rtol=0, atol=1e-13)
    halves = [part.band(0.95, points=GRID).reach(part(GRID)) for part in parts]
    wide = sum(w * half for w, half in zip(weights / weights.sum(), halves, strict=True))
    band = together.band(0.95, points=GRID)
    np.testing.assert_allclose((band.upper - band.lower) / 2, wide, rtol=1e-9)
    assert together.guarantee == PureDP("7/2")
    assert "if it is the same in all 3" in " ".join(together.describe().split())


def test_parts_of_different_units_cost_what_the_dearest_costs(tmp_path: Path) -> None:
    first, second, third = released(epsilon="1/2"), released(epsilon=2), released(epsilon=1)
    apart = first.combined(second, apart=True)
    assert apart.guarantee == PureDP(2)
    assert apart.certificate.caveats == (Caveat("overlap", 2),)
    told = " ".join(apart.describe().split())
    assert "a unit with records in more than one of them is not covered" in told
    assert apart.combined(third, apart=True).guarantee == PureDP(2)
    # A third one of the same homes adds to whichever of the two a home was in.
    again = apart.combined(third)
    assert (again.guarantee, again.certificate.caveats) == (PureDP(3), (Caveat("overlap", 3),))
    with pytest.raises(NotCoveredError, match="name them, not this"):
        account([again])
    loaded = load(again.save(tmp_path / "again.json"))
    assert loaded.to_json() == again.to_json()
    np.testing.assert_array_equal(loaded(GRID), again(GRID))
    for part in (first, second):
        with pytest.raises(ParameterError, match="of another charge"):
            again.combined(part)


@pytest.mark.parametrize("apart", [True, False])
def test_a_file_that_calls_parts_apart_promises_what_that_gives(apart: bool, tmp_path: Path) -> None:
    file = released().combined(released(), apart=apart).save(tmp_path / "both.json")
    whole = json.loads(file.read_text())
    assert ("apart" in whole) == apart
    for other in (not apart, "yes", 1):
        file.write_text(json.dumps({**whole, "apart": other}))
        with pytest.raises(StorageError):
            load(file)


def test_the_weakest_of_several_guarantees() -> None:
    pure, delta, rho = PureDP(1), ApproximateDP("1/2", "1e-6"), ZeroConcentratedDP("1/8")
    assert largest([pure, delta]) == ApproximateDP(1, "1e-6")
    assert largest([pure, rho]) == ZeroConcentratedDP("1/2")
    assert largest([PureDP("1/4"), rho]) == rho
    assert largest([pure]) == pure
    with pytest.raises(ParameterError, match="pure or zero-concentrated"):
        largest([delta, rho])


def test_one_release_alone_is_estimated_as_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # Under normal noise, and with nothing of chance among units, it is the same posterior.
    monkeypatch.setattr(joint, "SPREAD", 0.0)
    release = released(400, None, rho=0.01, bounds=(-1, 2))
    widths = joined([measured(release)], -1.0, 2.0)
    np.testing.assert_allclose(-1 + 3 * widths.posterior.line, release(GRID), rtol=0, atol=1e-6)


def test_default_lines_are_one_measurement_whatever_their_order_and_bounds() -> None:
    weak = [released(n, epsilon) for n, epsilon in ((100, 1), (60, 1), (200, "1/4"))]
    one, two, three = weak
    together = one.combined(two).combined(three)
    assert together.jointly
    np.testing.assert_allclose(
        together(GRID), three.combined(one).combined(two)(GRID), rtol=0, atol=1e-7
    )
    assert one.combined(released(20_000, mechanism="one-look")).jointly
    # Of two looks the band allows for what was clipped; the lines are averaged.
    assert not one.combined(released(20_000)).jointly
    for known in ({"unit": COUNTED}, {"prior": MEAN}, {"domain": Domain(GRID, periods=[0.25])}):
        pair = [released(100, **known) for _ in range(2)]
        assert not pair[0].combined(pair[1]).jointly
    other = one.combined(released(100, "1/8", bounds=(-1, 3)))
    assert other.jointly
    assert other.band(0.95).lower.min() >= -1
    assert other.band(0.95).upper.max() <= 3


def spiked_means(points: Any, count: int, **known: Any) -> list[Any]:
    """Releases of curves that all have a spike of one point, at two levels in turn."""
    curves = [np.where(np.arange(points.size) == 77, 0.9, level) for level in (0.3, 0.35)]
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(points), unit="home", **known)
    return [mean.fit(np.tile(curves[each % 2], (400, 1))).release_ for each in range(count)]


def test_of_two_it_is_proved_whatever_the_curves_are() -> None:
    points, held, missed = np.linspace(0, 1, 200), 0, 0
    for _ in range(40):
        first, second = spiked_means(points, 2)
        both = first.combined(second)
        assert both.jointly
        # Means may differ: it holds for their average as well.
        truth = np.where(np.arange(200) == 77, 0.9, 0.3 * both.share + 0.35 * (1 - both.share))
        band = both.band(0.95, points=points)
        held += bool(np.all((band.lower <= truth) & (truth <= band.upper)))
        bare = replace(both, first=replace(first, distance=None))
        missed += bool(bare.band(0.95, points=points).upper[77] < 0.9)
    # At .95 fewer than 29 of 40 have a chance below 1e-6.
    assert held >= 29
    assert missed >= 39
    assert "whatever the curves are" in " ".join(both.describe().split())
    assert "of curves like ordinary ones" in " ".join(bare.describe().split())


def test_an_average_of_distances_is_as_far_as_the_law_says() -> None:
    first, second = spiked_means(np.linspace(0, 1, 200), 2)
    parts = (0.7, first.distance, 400), (0.3, second.distance, 400)
    # Each misses in half of the .05 that are left, so both together in no more than that.
    reach = side_quantile(first.distance.noise.whole, 1, 0.975) * first.distance.scale
    told = 0.7 * first.distance.noisy + 0.3 * second.distance.noisy
    unit = 400 * 2 * first.distance.largest
    assert average_at_most(parts, 0.95) == pytest.approx((told + reach) / unit, rel=1e-6)


def test_what_is_proved_of_parts_is_not_said_of_three_nor_on_two_grids() -> None:
    points = np.linspace(0, 1, 200)
    one, two, three = spiked_means(points, 3)
    assert all(part.facts.lines()["band"].startswith("with 95% probability") for part in (one, two))
    (other,) = spiked_means(points**2, 1)
    for made in (one.combined(two).combined(three), one.combined(other)):
        assert "of curves like ordinary ones" in " ".join(made.describe().split())
        assert "With a probability" not in made.describe()
    assert one.combined(other).facts.stated.first == [APART]
    assert one.combined(two).combined(three).facts.stated.first == []


def test_an_average_near_a_bound_may_be_as_far_off_as_its_parts() -> None:
    flat = np.full((400, 24), 0.01)
    mean = PrivateMean("1/4", bounds=(0, 1), domain=Domain(GRID), unit=COUNTED)
    parts = [mean.fit(flat).release_ for _ in range(2)]
    both = parts[0].combined(parts[1])
    bands = [part.band(0.95, points=GRID) for part in parts]
    far = [band.reach(part(GRID)) for band, part in zip(bands, parts, strict=True)]
    least = both.share * far[0] + (1 - both.share) * far[1]
    assert np.all(both.band(0.95, points=GRID).upper >= both(GRID) + least - 1e-12)


def test_an_average_with_a_closer_look_is_proved_and_says_so() -> None:
    spiked = np.full((400, 200), 0.3)
    spiked[:, 77] = 0.9
    one, two, closer = (
        PrivateMean(1, bounds=(0, 1), mechanism=name).fit(curves).release_
        for name, curves in (
            ("auto", spiked), ("auto", spiked), ("two-looks", spiked.repeat(20, axis=0)),
        )
    )  # fmt: skip
    assert one.facts.lines()["band"].startswith("with 95% probability")
    both, average = one.combined(two), one.combined(closer)
    assert (both.jointly, average.jointly) == (True, None)
    for made in (both, average):
        assert made.facts.lines()["band"].startswith("with 95% probability the mean")
        assert made.view().lines[0].band == "95% band for the mean"


def test_many_weak_parts_have_a_fraction_of_the_error_of_their_average() -> None:
    straight = 0.4 + 0.2 * GRID
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID), unit="home")
    errors, held = [], 0
    for _ in range(6):
        parts = [mean.fit(np.tile(straight, (100, 1))).release_ for _ in range(16)]
        whole = reduce(lambda made, part: made.combined(part, apart=True), parts[1:], parts[0])
        assert whole.guarantee == PureDP(1)
        average = np.mean([part(GRID) for part in parts], axis=0)
        errors.append([np.sum((line - straight) ** 2) for line in (whole(GRID), average)])
        band = whole.band(0.95, points=GRID)
        held += int(np.all((band.lower <= straight) & (straight <= band.upper)))
    one, averaged = np.sqrt(np.mean(errors, axis=0))
    # By simulation it is .42 to .58.
    assert one < 0.75 * averaged
    assert held == 6


def test_means_and_derivatives_do_not_mix() -> None:
    first, second, third = (released() for _ in range(3))
    slopes = first.derivative().combined(second.derivative())
    assert (slopes.order, slopes.jointly) == (1, None)
    for one, other in ((slopes, third), (third, slopes)):
        with pytest.raises(ParameterError, match="of a mean on the same domain"):
            one.combined(other)


def test_a_file_that_names_a_caveat_for_each_part_is_read(tmp_path: Path) -> None:
    parts = []
    for count in (2, 3):
        release = released()
        caveats = (Caveat("search", count),)
        parts.append(replace(release, certificate=replace(release.certificate, caveats=caveats)))
    both = parts[0].combined(parts[1])
    assert both.certificate.caveats == (Caveat("search", 3),)
    written = json.loads(both.save(tmp_path / "both.json").read_text())
    written["caveats"] = [Caveat("search", count).to_json() for count in (2, 3)]
    (tmp_path / "both.json").write_text(json.dumps(written))
    np.testing.assert_array_equal(load(tmp_path / "both.json")(GRID), both(GRID))


def test_a_file_that_joins_what_cannot_be_joined_is_refused(tmp_path: Path) -> None:
    parts = [released(100, bounds=L2Ball(1.0), mechanism="laplace") for _ in range(2)]
    file = parts[0].combined(parts[1]).save(tmp_path / "both.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "jointly": True}))
    with pytest.raises(StorageError):
        load(file)


@pytest.mark.parametrize("unit", ["home", COUNTED])
def test_parts_in_other_units_are_said_to_disagree(unit: Any) -> None:
    given = {"unit": unit, "bounds": (0, 3)}
    one, alike = (released(2000, **given) for _ in range(2))
    fit = PrivateMean(1.0, domain=Domain(GRID), **given).fit
    other: Any = fit(np.tile(1.8 * MEAN + 0.9, (2000, 1))).release_
    said = "The bands of the parts do not meet everywhere: their means hardly agree."
    for both in (one.combined(other), other.combined(one)):
        assert said in repr(both)
        assert said in " ".join(both.describe().split())
    assert "unlike" not in repr(one.combined(alike))
    assert said not in " ".join(one.combined(alike).describe().split())


def test_the_command_combines_files(tmp_path: Path) -> None:
    files = [str(released().save(tmp_path / f"{name}.json")) for name in ("north", "south", "west")]
    out, more = str(tmp_path / "all.json"), tmp_path / "more.json"

    def told(*arguments: str) -> tuple[int, str]:
        made = CliRunner().invoke(app, ["combine", *arguments])
        return made.exit_code, " ".join(made.output.split())

    done, words = told(*files, "--apart", "--out", out)
    assert done == 0
    assert "1-differential privacy (pure), not covering a unit with records in more than one" in words
    whole = load(out)
    assert isinstance(whole, CombinedMean)
    assert whole.guarantee == PureDP(1)
    for given, refused in (
        ([files[0]], "F.json must be two releases or more; found 1"),
        ([files[0], out], f"'{out}' must be of another charge than what it is combined with"),
    ):
        done, words = told(*given, "--out", str(more))
        assert (done, refused in words) == (2, True)
    assert not more.exists()
