"""Group comparison: parallel composition, one design, the band of a difference, refusals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import Matern

import dpfda
from dpfda import PrivacyUnit, PrivateComparison, PrivateMean, Reading
from dpfda.bases import BoxBasis, KernelBasis
from dpfda.bases.ordinary import ordinary_curves
from dpfda.errors import BudgetError, DataError, ParameterError
from dpfda.mean.comparison.borrowing import borrowing
from dpfda.mean.comparison.release import ReleasedComparison
from dpfda.mechanisms.cells import Cells
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.ledger.named import Paying
from dpfda.publication import publish_parallel
from dpfda.records import LongCurves
from dpfda.testing import exact_totals
from released_lines import widths_of

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
GRID = np.linspace(0, 1, 21)


def curves(count, shift=0.0, seed=0):
    generator = np.random.default_rng(seed)
    return np.sin(3 * GRID) * 0.5 + shift + generator.uniform(-0.2, 0.2, (count, 1))


def two_groups(first=80, second=120, gap=0.3):
    X = np.vstack([curves(first, gap, 1), curves(second, 0.0, 2)])
    return X, np.repeat(["case", "control"], [first, second])


def compared(X=None, y=None, groups=None, **parameters):
    if X is None:
        X, y = two_groups()
    settings = {"epsilon": 2.0, "bounds": (-1.5, 1.5), **parameters}
    return PrivateComparison(**settings).fit(X, y, groups).release_


class TestParallelComposition:
    @pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
    def test_two_groups_cost_what_one_costs(self, neighbours):
        ledger = MemoryLedger().create("d", PureDP(5), neighbours, "record")
        levels = ["case", "control"]
        size = None if neighbours == "replace-one" else {"case": 80, "control": 120}
        release = compared(neighbours=neighbours, levels=levels, public_size=size, ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 2 == release.guarantee.epsilon
        assert [row.action for row in ledger.history("d")] == ["create", "charge"]
        entry = ledger.history("d")[-1].details
        assert entry["composition"] == "parallel"
        assert entry["groups"] == levels
        assert {mean.guarantee for mean in release.means.values()} == {PureDP(2)}

    def test_only_the_group_of_the_changed_unit_has_another_sum(self):
        # What the proof rests on, bit for bit: the other group's integers are the same.
        X, y = two_groups()
        changed = X.copy()
        changed[3] = -1.4
        estimator = PrivateComparison(1.0, bounds=(-1.5, 1.5))
        sums = [[exact_totals(p.total) for p in estimator.prepare(x, y)[1]] for x in (X, changed)]
        assert sums[0][0] != sums[1][0]
        assert sums[0][1] == sums[1][1]

    def test_a_unit_more_changes_the_sum_of_its_group_alone(self):
        X, y = two_groups()
        estimator = PrivateComparison(
            1.0,
            bounds=(-1.5, 1.5),
            unit=PrivacyUnit(neighbours="add-remove"),
            levels=["case", "control"],
            reading=Reading(invalid="repair"),
        )
        both = [estimator.prepare(x, w)[1] for x, w in ((X, y), (X[:-1], y[:-1]))]
        assert exact_totals(both[0][0].total) == exact_totals(both[1][0].total)
        assert [p.total.count_with_noise(0, 1) for p in both[0]] == [80, 120]
        assert [p.total.count_with_noise(0, 1) for p in both[1]] == [80, 119]

    def test_noise_is_that_of_the_whole_budget_in_each_group(self):
        release = compared()
        alone = PrivateMean(2.0, bounds=(-1.5, 1.5), mechanism="knorm").fit(curves(80)).release_
        same = compared(mechanism="knorm")
        for name in release.names:
            assert same[name].certificate.achieved.epsilon <= 2
            # One K-norm block of any size has the same scale, width over epsilon.
            assert same[name].noise.scales == alone.noise.scales

    def test_noises_are_independent(self):
        X, y = two_groups(40, 40, 0.0)
        X[40:] = X[:40]
        draws = np.array(
            [
                [mean.noisy_sum[0] for mean in compared(X, y, mechanism="knorm").means.values()]
                for _ in range(150)
            ],
            dtype=float,
        )
        correlation = np.corrcoef(draws.T)[0, 1]
        assert abs(correlation) < 5 / np.sqrt(150)
        # The exact sums are equal, so equal noise would have shown as a correlation of one.
        assert (draws[:, 0] != draws[:, 1]).all()

    def test_parts_that_promise_different_things_are_refused(self):
        one = PrivateMean(1.0, bounds=(-1, 1)).prepare(curves(20))
        other = PrivateMean(2.0, bounds=(-1, 1)).prepare(curves(20))
        with pytest.raises(ParameterError, match="share guarantee, neighbours and unit; found 2 kinds"):
            publish_parallel([(p.total, p.plan) for p in (one, other)], {})

    def test_parts_on_boxes_are_refused_before_the_charge(self):
        basis = BoxBasis.on_grid("cosine", (4, 5), [(0, 1)] * 2)
        part = PrivateMean(1.0, bounds=(-1, 1), basis=basis).prepare(np.zeros((30, 20)))
        ledger = MemoryLedger().create("d", PureDP(5), REPLACE, "record")
        with pytest.raises(ParameterError, match="be of curves on an interval"):
            publish_parallel([(part.total, part.plan)], {}, Paying(ledger, "d"))
        assert ledger.spent("d")["epsilon"] == 0

    def test_gaussian_releases_are_charged_as_gaussian(self):
        ledger = MemoryLedger().create("d", ApproximateDP(5, "1e-3"), REPLACE, "record")
        compared(delta=1e-6, mechanism="gaussian", ledger=ledger.of("d"))
        row = ledger.history("d")[-1]
        assert row.asked["costs"][0]["loss"]["kind"] == "gaussian"
        assert ledger.spent("d")["delta"] == Fraction(1, 10**6)

    def test_nothing_is_drawn_where_the_ledger_refuses(self, monkeypatch):
        from dpfda.numerics import drawing

        monkeypatch.setattr(drawing, "draw_array", None)
        ledger = MemoryLedger().create("d", PureDP(1), REPLACE, "record")
        with pytest.raises(BudgetError):
            compared(ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 0


class TestDifference:
    def test_with_little_noise_it_is_the_difference_of_the_means(self):
        X, y = two_groups(gap=0.3)
        release = compared(X, y, epsilon=1e5)
        truth = X[y == "case"].mean(axis=0) - X[y == "control"].mean(axis=0)
        difference = release.difference("case", "control")
        np.testing.assert_allclose(difference(GRID), truth, atol=0.02)
        np.testing.assert_allclose(release.difference("control", "case")(GRID), -difference(GRID))
        assert difference.integral() == pytest.approx(0.3, abs=0.02)
        slope = (difference(0.52) - difference(0.48)) / 0.04
        assert difference.derivative()(0.5) == pytest.approx(slope, abs=0.02)

    def test_equal_groups_of_different_size_do_not_differ(self):
        # Shrinkage tuned to each group's size would tell them apart where the data do not.
        one = np.full((1, GRID.size), 1.2)
        X, y = np.repeat(one, 330, axis=0), np.repeat(["a", "b"], [30, 300])
        means = np.array([compared(X, y, epsilon=3.0).difference("a", "b")(GRID) for _ in range(40)])
        # Six standard errors at 21 points: beyond by chance below 2e-5.
        spread = means.std(axis=0) / np.sqrt(40)
        assert (np.abs(means.mean(axis=0)) < 6 * spread).all()

    def test_releases_of_different_designs_have_no_difference(self):
        estimator = PrivateMean(3.0, bounds=(-1.5, 1.5), mechanism="knorm")
        pair = {"a": estimator.fit(curves(30)).release_, "b": estimator.fit(curves(300)).release_}
        with pytest.raises(ParameterError, match="groups must be released together"):
            ReleasedComparison(pair)
        shared = {k: replace(m, certificate=pair["a"].certificate) for k, m in pair.items()}
        with pytest.raises(ParameterError, match="groups must be released with one design"):
            ReleasedComparison(shared).difference("a", "b")

    def test_the_band_covers_at_its_level(self):
        X, y = two_groups(40, 60)
        exact = PrivateComparison(1.0, bounds=(-1.5, 1.5), mechanism="knorm").fit(X, y).release_
        target_parts = []
        for name in exact.names:
            mean = exact[name]
            prepared = PrivateMean(1.0, bounds=(-1.5, 1.5), mechanism="knorm").prepare(X[y == name])
            raw = np.array(exact_totals(prepared.total)[: mean.noise.components], dtype=float)
            scale = 2.0**-mean.exponent / mean.count
            target_parts.append(mean.basis.evaluate(GRID) @ (mean.shrinkage * raw * scale))
        target = target_parts[0] - target_parts[1]
        estimator = PrivateComparison(1.0, bounds=(-1.5, 1.5), mechanism="knorm")

        def difference():
            return estimator.fit(X, y).release_.difference("case", "control")

        hits = sum(difference().band(0.8, True, GRID).contains(target) for _ in range(120))
        # Each limit is wrong with chance 5e-7; a band too narrow by sqrt(2) covers about half.
        assert stats.binom.ppf(5e-7, 120, 0.8) <= hits <= stats.binom.isf(5e-7, 120, 0.8)

    def test_the_band_is_wider_than_that_of_either_mean(self):
        release = compared(mechanism="gaussian", delta=1e-6)
        widths = {}
        for name, function in (*release.means.items(), ("d", release.difference("case", "control"))):
            band = function.band(0.9, False, GRID)
            widths[name] = band.upper - band.lower
        # Gaussian noise: variances add.
        expected = np.sqrt(widths["case"] ** 2 + widths["control"] ** 2)
        # Simulated quantiles: at one of 21 points they may be off by some per cent.
        np.testing.assert_allclose(widths["d"], expected, rtol=0.12)

    def test_smoothing_a_difference_brings_it_closer_where_noise_is_large(self):
        X, y = two_groups(40, 40, 0.1)
        truth = X[:40].mean(axis=0) - X[40:].mean(axis=0)
        errors = np.zeros((20, 2))
        for row in errors:
            difference = compared(X, y, epsilon=0.5, mechanism="laplace").difference("case", "control")
            row[:] = [np.sum((f(GRID) - truth) ** 2) for f in (difference, difference.smoothed)]
        assert errors[:, 1].mean() < errors[:, 0].mean()
        # And leaves it alone where there is hardly any.
        exact = compared(X, y, epsilon=1e6, mechanism="laplace").difference("case", "control")
        np.testing.assert_allclose(exact.smoothed(GRID), exact(GRID), atol=1e-3)
        assert exact.smoothed(0.5) == pytest.approx(exact(0.5), abs=1e-3)

    def test_the_posterior_mean_is_that_of_conjugate_normals(self):
        # One coefficient of known noise: the most likely prior variance is c^2 - v, so the factor on c
        # is 1 - v / c^2; none is left where c^2 < v.
        from dpfda.mean.comparison.difference_release import most_likely_mean

        found = most_likely_mean(np.array([3.0]), np.array([[1.0]]), np.array([1.0]))
        assert found[0] == pytest.approx(3 * (1 - 1 / 9), rel=0.03)
        small = most_likely_mean(np.array([0.5]), np.array([[1.0]]), np.array([1.0]))
        assert small[0] == pytest.approx(0.0, abs=1e-4)

    def test_bands_are_the_same_whenever_they_are_asked_for(self):
        difference = compared().difference("case", "control")
        np.testing.assert_array_equal(difference.band().lower, difference.band().lower)


class TestUnits:
    def test_a_person_is_in_one_group(self):
        X, y = two_groups(4, 4)
        people = np.array(["p", "q", "r", "s", "t", "u", "v", "p"])
        with pytest.raises(DataError, match="found a unit in two, at row 7"):
            compared(X, y, people)

    def test_the_first_record_decides_under_repair(self):
        X, y = two_groups(4, 4)
        people = np.array(["p", "q", "r", "s", "t", "u", "v", "p"])
        estimator = PrivateComparison(1.0, bounds=(-1.5, 1.5), reading=Reading(invalid="repair"))
        parts = estimator.prepare(X, y, people)[1]
        assert [part.total.count_with_noise(0, 1) for part in parts] == [4, 3]
        # A record of a control is never one of a case: it is left out.
        without = estimator.prepare(X[:-1], y[:-1], people[:-1])[1]
        assert [exact_totals(p.total) for p in parts] == [exact_totals(p.total) for p in without]

    @pytest.mark.parametrize("kind", ["array", "long"])
    def test_a_crossover_keeps_its_difference_under_repair(self, kind):
        """Each of 200 persons is seen as a case and as a control: .6 apart, in either order."""
        X, y = two_groups(200, 200, gap=0.6)
        order = np.random.default_rng(5).permutation(400)
        X, y, people = X[order], y[order], np.tile(np.arange(200), 2)[order]
        with pytest.raises(DataError, match="release the mean of each unit's difference"):
            compared(X, y, people)
        if kind == "long":
            X = LongCurves(
                np.repeat(np.arange(400), 21), np.tile(GRID, 400), X.ravel(), np.repeat(people, 21)
            )
            y, people = np.repeat(y, 21), None
        domain = (0, 1) if kind == "long" else None
        made = compared(X, y, people, epsilon=1e4, invalid="repair", missing="complete", domain=domain)
        # Records of both kinds in each group would be about .3 apart, or nothing.
        assert made.difference("case", "control")(0.5) == pytest.approx(0.6, abs=0.1)

    def test_persons_are_averaged_within_their_group(self):
        X, y = two_groups(50, 50)
        people = np.arange(100)
        release = compared(np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(people, 2), unit="person")
        assert release.unit == "person"
        assert [mean.count for mean in release.means.values()] == [50, 50]

    def test_labels_beyond_the_levels(self):
        X, y = two_groups()
        with pytest.raises(DataError, match="found another label in row 80"):
            compared(X, y, levels=["case", "other"])
        estimator = PrivateComparison(
            1.0,
            bounds=(-1.5, 1.5),
            levels=["case", "other"],
            unit=PrivacyUnit(neighbours="add-remove"),
            reading=Reading(invalid="repair"),
        )
        names, parts = estimator.prepare(X, y)
        # Nobody in a group is a number like another: it neither fails nor shows.
        assert dict(zip(names, (p.total.count_with_noise(0, 1) for p in parts), strict=True)) == {
            "case": 80,
            "other": 0,
        }
        assert set(estimator.fit(X, y).release_.names) == {"case", "other"}

    @pytest.mark.parametrize("kind", ["array", "frame", "long", "persons"])
    def test_an_empty_group_has_the_public_side_of_any_other(self, kind):
        import pandas as pd

        # A grid that is not the default one: an empty group has no rows to read it from.
        X, grid = curves(12), GRID * 4 + 5
        records = {"array": X, "frame": pd.DataFrame(X, columns=grid), "persons": X}.get(kind)
        long = kind == "long"
        if long:
            records = LongCurves(np.repeat(np.arange(12), 21), np.tile(grid, 12), X.ravel())
        people = np.arange(12) if kind == "persons" else None
        estimator = PrivateComparison(
            1.0,
            bounds=(-1.5, 1.5),
            levels=["a", "b"],
            unit=PrivacyUnit(neighbours="add-remove"),
            reading=Reading("complete" if long else "refuse", "repair"),
            domain=(5.0, 9.0),
        )
        alone, some = (np.array(["a"] * 12), np.array(["a"] * 11 + ["b"]))
        sides = []
        for y in (alone, some):
            _, parts = estimator.prepare(records, np.repeat(y, 21) if long else y, people)
            requests = [part.plan for part in parts]
            sides.append([(r.basis.grid_points.tolist(), r.unit, r.components()) for r in requests])
            assert sides[-1][0] == sides[-1][1]
            assert set(
                estimator.fit(records, np.repeat(y, 21) if long else y, people).release_.names
            ) == {"a", "b"}
        assert sides[0] == sides[1]

    @pytest.mark.parametrize("size", [None, 40])
    @pytest.mark.parametrize("mechanism", ["auto", "knorm", Cells(cells=12)])
    def test_an_empty_group_gets_as_much_noise_as_any_other(self, mechanism, size):
        # Fewer functions than cells: the sums over cells are what gets noise.
        estimator = PrivateComparison(
            1.0,
            bounds=(-1.5, 1.5),
            basis=KernelBasis.on_grid(Matern(0.3), GRID).truncate(5),
            levels=["a", "b"],
            unit=PrivacyUnit(neighbours="add-remove", public_size=size),
            mechanism=mechanism,
        )
        lengths = [
            [len(mean.noisy_sum) for mean in estimator.fit(curves(12), y).release_.means.values()]
            for y in (["a"] * 12, ["a"] * 10 + ["b"] * 2)
        ]
        assert lengths[0] == lengths[1]
        assert len(set(lengths[0])) == 1

    def test_long_curves(self):
        X, y = two_groups(30, 30)
        ids = np.repeat(np.arange(60), 7)
        times = np.tile(GRID[::3], 60)
        values = X[:, ::3].ravel()
        long = LongCurves(ids, times, values)
        read = {"domain_range": (0, 1), "missing": "complete"}
        release = compared(long, np.repeat(y, 7), epsilon=1e4, **read)
        assert [mean.count for mean in release.means.values()] == [30, 30]
        assert release.difference("case", "control")(0.5) == pytest.approx(0.3, abs=0.08)
        wrong = np.repeat(y, 7)
        wrong[1] = "control"
        with pytest.raises(DataError, match="found a unit in two, at row 1"):
            compared(long, wrong, **read)
        with pytest.raises(ParameterError, match="missing must be 'complete' for irregular curves"):
            compared(long, np.repeat(y, 7), domain_range=(0, 1))

    def test_data_frames(self):
        import pandas as pd

        X, y = two_groups()
        frame = pd.DataFrame(X, columns=GRID)
        release = compared(frame, pd.Series(y))
        assert release.domain_range == (0.0, 1.0)


class TestRefusals:
    def test_names_that_were_found_are_not_published_where_they_may_be_of_persons(self):
        X, _ = two_groups(33, 66)
        persons = np.repeat([f"P{i:02d}" for i in range(33)], 3)
        with pytest.raises(
            ParameterError, match="levels must name the groups where more than 10"
        ) as told:
            compared(X, persons)
        assert "P0" not in str(told.value)
        assert len(compared(X, persons, levels=sorted(set(persons))).names) == 33
        assert len(compared(X, np.arange(99) % 10).names) == 10

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"levels": ["case"]}, "levels must be two or more different groups; found 1\\."),
            ({"levels": [1, "1"]}, "levels must be two or more different groups"),
            (
                {"levels": [1, 2]},
                r"y must hold one of the levels \['1', '2'\]; found another label in row 0. State",
            ),
            ({"neighbours": "add-remove"}, "levels must be given under add/remove neighbours"),
            ({"public_size": 5}, "public_size must be None under replace-one"),
            ({"design_size": 0}, "design_size must be None or a positive integer; found 0"),
            ({"mechanism": "magic"}, "mechanism must be 'auto' or one of"),
            ({"bounds": None}, "bounds must be given"),
            (
                {"neighbours": "add-remove", "levels": ["case", "control"], "public_size": {"case": 3}},
                "public_size must have one number a level",
            ),
        ],
    )
    def test_by_their_words_and_free_of_charge(self, parameters, words):
        ledger = MemoryLedger().create("d", PureDP(10), REPLACE, "record")
        with pytest.raises((ParameterError, DataError), match=words):
            compared(**parameters, ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 0

    def test_data(self):
        X, y = two_groups()
        with pytest.raises(DataError, match="requires y to be passed"):
            compared(X, None)
        with pytest.raises(DataError, match="Pass that column of X, apart"):
            compared(X, "arm")
        with pytest.raises(DataError, match="y must hold one label a record"):
            compared(X, y[:, None])
        with pytest.raises(DataError, match="y must have a group for every record; found none in row 5"):
            compared(X, np.where(np.arange(200) == 5, None, y.astype(object)))
        alone = np.where(np.arange(200) == 5, "alone", y.astype(object))
        with pytest.raises(
            DataError, match=r"The group 'alone' must have at least two units; found 1\. J"
        ):
            compared(X, alone)
        with pytest.raises(ParameterError, match="group must be one of 'case', 'control'; found 'x'"):
            compared().difference("case", "x")

    def test_comparisons_are_of_two_or_more_that_fit(self):
        mean = PrivateMean(1.0, bounds=(-1, 1)).fit(curves(30)).release_
        other = PrivateMean(2.0, bounds=(-1, 1)).fit(curves(30)).release_
        with pytest.raises(ParameterError, match="groups must be two or more"):
            ReleasedComparison({"a": mean})
        with pytest.raises(ParameterError, match="2 with 2 kinds"):
            ReleasedComparison({"a": mean, "b": other})


class TestFiles:
    def test_a_release_comes_back_exactly(self, tmp_path):
        release = compared()
        file = release.save(tmp_path / "g.json")
        for back in (dpfda.load(file), ReleasedComparison.load(file)):
            assert repr(back) == repr(release)
            np.testing.assert_array_equal(
                back.difference("case", "control")(GRID), release.difference("case", "control")(GRID)
            )
        import pickle

        assert repr(pickle.loads(pickle.dumps(release))) == repr(release)  # noqa: S301

    def test_words_say_what_is_public(self):
        assert "which group, like the number of records of each, is public" in repr(compared())
        said, own = (
            " ".join(each.describe().split()) for each in (compared(), compared().means["case"])
        )
        for start in (
            "- the grid: ",
            "- how smooth the curve is expected to be: ",
            "- how the noise is made: ",
        ):
            (told,) = [line for line in said.split(";") if start in line]
            assert told in own
        assert "What the bound does" in said
        private = compared(neighbours="add-remove", levels=["case", "control"])
        assert "twice the guarantee" in repr(private)

    def test_pictures(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        release = compared(labels={"domain": "hour", "value": "load (MW)"})
        axis = release.plot()
        words = [text.get_text() for text in axis.get_legend().get_texts()]
        assert words == ["case", "control", "95% band for the mean"]
        pyplot.close(axis.get_figure())
        axis = release.difference("case", "control").plot()
        assert axis.get_ylabel() == "difference in load (MW)"
        assert axis.get_xlabel() == "hour"
        pyplot.close(axis.get_figure())


def test_cases_and_controls(dti):
    people = dti["person"]
    with pytest.raises(ParameterError, match="levels must be two or more"):
        compared(dti["curves"], np.full(people.size, "one"), people, missing="complete")
    group = np.where(people < "2000", "controls", "cases")
    release = compared(
        dti["curves"], group, people, missing="complete", bounds=(0.2, 0.9), epsilon=1e4, unit="person"
    )
    assert sum(mean.count for mean in release.means.values()) == 142
    completed = PrivateMean(1e5, bounds=(0.2, 0.9), reading=Reading(missing="complete"))
    alone = {
        name: completed.fit(dti["curves"][group == name], groups=people[group == name]).release_
        for name in ("cases", "controls")
    }
    points = np.linspace(0, 1, 9)
    direct = alone["cases"](points) - alone["controls"](points)
    np.testing.assert_allclose(release.difference("cases", "controls")(points), direct, atol=0.01)


def test_the_name_of_a_series_says_what_the_groups_are():
    import pandas as pd

    X, y = two_groups()
    arms = pd.Series(y, name="treatment arm")
    assert compared(X, arms).about["group"] == "treatment arm"
    assert compared(X, arms, labels={"group": "cohort"}).about["group"] == "cohort"
    assert "group" not in compared(X, pd.Series(y)).about


def test_groups_are_named_as_the_user_wrote_them():
    X, y = two_groups(20, 20)
    release = compared(X, (y == "case").astype(int), epsilon=100.0)
    assert release.names == ("0", "1")
    both = [release.difference(*pair)(0.5) for pair in ((1, 0), ("1", "0"), (np.int64(1), "0"))]
    assert both[0] == both[1] == both[2]
    assert release[0] is release["0"]
    with pytest.raises(ParameterError, match="group must be one of '0', '1'; found '2'"):
        release.difference(0, 2)


def alike_groups(size=100, groups=10, seed=4):
    """Groups that differ by a small level alone."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), size)
    levels = 0.03 * generator.standard_normal(groups)
    X = 0.5 + 0.2 * np.sin(6 * GRID) + (levels[labels] + generator.normal(0, 0.1, labels.size))[:, None]
    return np.clip(X, 0, 1), labels


def group_error(means, X, labels):
    found = [mean(GRID) - X[labels == int(name)].mean(axis=0) for name, mean in means.items()]
    return float(np.sqrt(np.mean(np.square(found))))


def alone(release):
    """The same noisy sums, each group by itself."""
    made = {}
    for name, mean in release.means.items():
        prior = replace(mean.hierarchy, centers=np.empty((0, 0)), near=np.empty((0, 0)), version=3)
        made[name] = replace(mean, hierarchy=prior)
    return made


class TestBorrowing:
    def test_groups_that_are_alike_gain_and_the_noisy_sums_are_all_that_is_used(self):
        X, labels = alike_groups()
        errors = []
        for _ in range(4):
            release = PrivateComparison(1, bounds=(0, 1)).fit(X, labels).release_
            own = alone(release)
            again = borrowing(own)
            for name, mean in release.means.items():
                # Made of the released integers alone: found again from them.
                np.testing.assert_array_equal(again[name](GRID), mean(GRID))
            errors.append([group_error(means, X, labels) for means in (release.means, own)])
        borrowed, by_itself = np.sqrt(np.mean(np.square(errors), axis=0))
        assert borrowed < 0.7 * by_itself

    def test_groups_that_are_unlike_lose_nothing(self):
        generator = np.random.default_rng(5)
        labels = np.repeat(np.arange(6), 400)
        lines = 0.5 + 0.4 * np.sin(np.outer(np.arange(1, 7), 3 * GRID))
        X = np.clip(lines[labels] + generator.normal(0, 0.05, (labels.size, 1)), 0, 1)
        release = PrivateComparison(1, bounds=(0, 1)).fit(X, labels).release_
        errors = [group_error(means, X, labels) for means in (release.means, alone(release))]
        assert errors[0] < 1.02 * errors[1]

    def test_numbers_that_fail_lose_no_release_that_was_paid_for(self, monkeypatch):
        def fail(*_):
            raise np.linalg.LinAlgError

        X, labels = alike_groups(groups=3)
        monkeypatch.setattr("dpfda.estimates.CurveModel.posterior", fail)
        release = PrivateComparison(0.5, bounds=(0, 1)).fit(X, labels).release_
        monkeypatch.undo()
        for name, mean in release.means.items():
            np.testing.assert_array_equal(alone(release)[name](GRID), mean(GRID))

    def test_evidence_of_a_group_counts_once(self):
        # Two groups have one difference, and each has seen it itself; of three there are two.
        X, labels = alike_groups(groups=3)
        two = PrivateComparison(1, bounds=(0, 1)).fit(X[:200], labels[:200]).release_
        assert not np.any(two["0"].hierarchy.near)
        three = PrivateComparison(1, bounds=(0, 1)).fit(X, labels).release_
        seen = {name: widths_of(mean).posterior.nearness for name, mean in three.means.items()}
        more = {name: mean.hierarchy.near for name, mean in three.means.items()}
        own = {name: seen[name] - more[name] for name in seen}
        np.testing.assert_allclose(more["0"], (own["1"] + own["2"]) / 2, rtol=1e-9, atol=1e-9)

    def test_the_file_of_one_group_gives_its_line(self, tmp_path):
        X, labels = alike_groups(groups=4)
        release = PrivateComparison(1, bounds=(0, 1)).fit(X, labels).release_
        release["2"].save(tmp_path / "two.json")
        release.save(tmp_path / "all.json")
        line, every = dpfda.load(tmp_path / "two.json"), dpfda.load(tmp_path / "all.json")
        np.testing.assert_allclose(line(GRID), release["2"](GRID), rtol=1e-12)
        np.testing.assert_allclose(every["2"](GRID), release["2"](GRID), rtol=1e-12)

    def test_cells_are_for_what_all_groups_show(self):
        plans = [
            PrivateComparison(1, bounds=(0, 1), levels=list(range(groups))).plan(100 * groups, 100)
            for groups in (2, 40)
        ]
        cells = [len(plan.one.planned.hierarchy.cells) for plan in plans]
        assert cells[1] > 1.5 * cells[0]


LEVELS = {"tariff": ["day", "night"], "region": ["north", "south", "west"]}


def crossed_curves(size=40):
    """Curves (n, m) that a tariff and a region shift, with both labels."""
    tariff = np.repeat(LEVELS["tariff"], 3 * size)
    region = np.tile(np.repeat(LEVELS["region"], size), 2)
    shift = 0.5 * (tariff == "night") + 0.3 * (region == "south")
    return curves(tariff.size, 0.0, 3) + shift[:, None], {"tariff": tariff, "region": region}


class TestCrossedGroups:
    def test_groups_are_all_combinations_at_one_charge(self):
        X, y = crossed_curves()
        ledger = MemoryLedger().create("d", PureDP(9), "replace-one", "record")
        release = compared(X, y, levels=LEVELS, epsilon=8.0, ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 8
        assert release.names == tuple(f"{a} / {b}" for a in LEVELS["tariff"] for b in LEVELS["region"])
        for a, b in [("day", "west"), ("night", "south")]:
            own = X[(y["tariff"] == a) & (y["region"] == b)].mean(axis=0)
            assert np.abs(release[a, b](GRID) - own).max() < 0.15
        assert release["day", "west"] is release["day / west"]
        assert release.difference(("night", "north"), ("day", "north"))([0.5])[0] == pytest.approx(
            0.5, abs=0.15
        )

    def test_frames_say_their_columns_and_found_labels_are_sorted(self):
        import pandas as pd

        X, y = crossed_curves()
        release = compared(X, pd.DataFrame(y))
        assert dict(release.factors) == {name: tuple(levels) for name, levels in LEVELS.items()}

    def test_combinations_that_do_not_occur_are_left_out_where_sizes_are_public(self):
        X, y = crossed_curves()
        kept = (y["tariff"] == "day") | (y["region"] != "west")
        y = {name: labels[kept] for name, labels in y.items()}
        assert "night / west" not in compared(X[kept], y, levels=LEVELS).names
        private = compared(X[kept], y, levels=LEVELS, neighbours="add-remove")
        assert len(private.names) == 6

    @pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
    def test_other_labels_are_refused(self, neighbours):
        X, y = crossed_curves()
        y["region"] = np.where(np.arange(len(X)) == 7, "east", y["region"])
        with pytest.raises(DataError, match="found another label in row 7"):
            compared(X, y, levels=LEVELS, neighbours=neighbours)
        if neighbours == "add-remove":
            settings = {"reading": Reading(invalid="repair"), "unit": PrivacyUnit(neighbours=neighbours)}
            estimator = PrivateComparison(1.0, bounds=(-1.5, 1.5), levels=LEVELS, **settings)
            counts = [part.total.count_with_noise(0, 1) for part in estimator.prepare(X, y)[1]]
            assert counts == [39, 40, 40, 40, 40, 40]

    def test_a_person_is_in_one_combination(self):
        X, y = crossed_curves()
        people = np.arange(len(X))
        people[40] = 0  # Of the same tariff, in another region.
        with pytest.raises(DataError, match="found a unit in two, at row 40"):
            compared(X, y, people, levels=LEVELS)

    @pytest.mark.parametrize(
        ("levels", "y", "words"),
        [
            ({"tariff": ["day", "night"]}, None, "levels must name two or more columns"),
            (LEVELS | {"region": ["north"]}, None, "levels must be two or more different groups"),
            ({"a": ["x", "x / y"], "b": ["z", "y / z"]}, {"a": ["x"], "b": ["z"]}, "different names"),
        ],
    )
    def test_levels_that_cross_nothing_are_refused(self, levels, y, words):
        X, labels = crossed_curves()
        with pytest.raises(ParameterError, match=words):
            compared(X, y or labels, levels=levels)

    def test_a_table_without_the_column_is_refused(self):
        X, y = crossed_curves()
        with pytest.raises(DataError, match="a column of labels 'region'"):
            compared(X, {"tariff": y["tariff"]}, levels=LEVELS)
        with pytest.raises(ParameterError, match="levels must be given under add/remove"):
            compared(X, y, neighbours="add-remove")

    def test_a_release_comes_back_with_its_factors(self, tmp_path):
        X, y = crossed_curves()
        release = compared(X, y, levels=LEVELS)
        release.save(tmp_path / "r.json")
        again = dpfda.load(tmp_path / "r.json")
        assert again.factors == release.factors
        np.testing.assert_array_equal(again["day", "west"](GRID), release["day", "west"](GRID))
        with pytest.raises(ParameterError, match="among their combinations"):
            replace(release, factors={"tariff": ("day", "night"), "region": ("north", "south")})

    def test_a_table_of_pictures_has_one_scale_and_a_place_for_each(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        X, y = crossed_curves()
        axis = compared(X, y, levels=LEVELS, labels={"value": "load (MW)"}).plot()
        panels = axis.child_axes
        assert len(panels) == 6
        assert len({panel.get_ylim() for panel in panels}) == 1
        axis.figure.canvas.draw()
        places = {tuple(np.round(panel.get_window_extent().p0)) for panel in panels}
        assert [len({place[i] for place in places}) for i in (0, 1)] == [3, 2]
        # Tariffs are rows, regions columns, each said once.
        words = [text.get_text() for text in axis.texts]
        assert words == [*LEVELS["region"], *LEVELS["tariff"]]
        assert axis.get_ylabel() == "load (MW)"
        pyplot.close(axis.figure)

    def test_the_lines_of_one_tariff_are_borrowed_from(self):
        # Groups of 60 of six tariffs that differ much and regions that do not.
        generator = np.random.default_rng(8)
        tariff, region = (
            each.ravel() for each in np.meshgrid(np.arange(6), np.arange(5), indexing="ij")
        )
        lines = 0.5 + 0.25 * np.sin(np.outer(tariff, 3 * GRID))
        own = np.repeat(np.arange(30), 60)
        X = np.clip(lines[own] + generator.normal(0, 0.05, (own.size, 1)), 0, 1)
        errors = []
        for _ in range(3):
            y = {"tariff": tariff[own], "region": region[own]}
            release = PrivateComparison(4, bounds=(0, 1)).fit(X, y).release_
            flat = borrowing(alone(release))
            errors.append(
                [
                    np.mean(
                        [
                            (means[name](GRID) - line) ** 2
                            for name, line in zip(means, lines, strict=True)
                        ]
                    )
                    for means in (dict(release.means), flat)
                ]
            )
        crossed, without = np.sqrt(np.mean(errors, axis=0))
        assert crossed < 0.85 * without


def test_the_band_of_a_group_that_borrows_is_narrower_than_alone_and_holds_it():
    at = np.linspace(0, 1, 48)
    curves = 0.5 + 0.2 * np.sin(2 * np.pi * at) + np.linspace(-0.1, 0.1, 600)[:, None]
    widths, holds = [], []
    for _ in range(8):
        release = PrivateComparison(1.0, bounds=(0, 1)).fit(curves, ["a", "b"] * 300).release_
        # By itself without what it measured of its distance, which a group does not measure.
        one = PrivateMean(1.0, bounds=(0, 1)).fit(curves[::2]).release_
        alone = widths_of(one).around_line(0.95)
        band = release["a"].band(points=at)
        widths.append([np.mean(band.upper - band.lower), 2 * np.mean(alone)])
        holds.append(band.contains(curves[::2].mean(axis=0)))
    own, other = np.mean(widths, axis=0)
    assert own < 0.9 * other
    assert sum(holds) >= 6


def test_bands_and_errors_of_many_groups_are_as_planned():
    # The mean of five logarithms has a deviation of .07: chance breaks this in one of 300. Of the widest
    # of all bands, which was planned before, it would be -.4.
    grid, size = np.linspace(0, 1, 24), 1200
    groups, ratios = np.arange(size) % 12, []
    comparison = PrivateComparison(1.0, bounds=(0, 1), levels=range(12))
    plan = comparison.plan(size, grid.size)
    alone = plan.one.outlook()
    assert plan.outlook().most == alone.most
    assert plan.error == pytest.approx(alone.typical * 11**-0.2)
    for curve in ordinary_curves(grid, 5):
        release = comparison.fit(np.tile(curve, (size, 1)), groups).release_
        bands = [release[name].band(0.95) for name in release.names]
        halves = [np.mean(band.upper - band.lower) / 2 for band in bands]
        ratios.append(np.log([np.mean(halves) / plan.band(), max(halves) / plan.band_for_most()]))
    own, widest = np.mean(ratios, axis=0)
    assert abs(own) < 0.25
    assert -0.5 < widest < 0.1
