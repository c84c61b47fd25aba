"""Releases of several custodians: the integers of one fit, five processes, and who breaks the rules."""

import json
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import (
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateCox,
    PrivateDensity,
    PrivateFPCA,
    PrivateMean,
    load,
)
from dpfda.bases import BoxBasis
from dpfda.bounds import Ellipsoid, L1Ball, L2Ball
from dpfda.errors import BudgetError, CustodyError, DataError, ParameterError
from dpfda.front.app import app
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.testing import exact_totals

pytest.importorskip("cryptography")

from dpfda.covariance.publish import Stage, outer_sum
from dpfda.front.agreed import estimator_from, written_parameters
from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, words
from dpfda.publication.custody import Agreement, Keys, Part, joined, masked

pytestmark = pytest.mark.usefixtures("few_draws")

POINTS = 12
RECORDS = np.random.default_rng(0).normal(size=(60, POINTS))
NAMES = ("east", "north", "south", "upper-valley", "west")
# Who has which records, and whose they are: nobody is with two custodians.
CUTS = np.array([7, 20, 21, 45])
PEOPLE = np.arange(60) // 3 + 100 * np.searchsorted(CUTS, np.arange(60), side="right")
MEANS = {
    "values": {"bounds": (-1.0, 1.5)},
    "length": {"bounds": L2Ball(0.6)},
    "l1": {"bounds": L1Ball(1.1)},
    "ellipsoid": {"bounds": Ellipsoid(radius=2.0, power=1.0)},
    "shape": {"standardize": True},
    "adapted": {"bounds": (-1, 1), "mechanism": "bernstein"},
    "laplace": {"bounds": (-1, 1), "mechanism": "laplace", "basis": "matern:10%:1.5"},
    "gaussian": {"bounds": (-1, 1), "delta": 1e-6, "mechanism": "gaussian"},
    "prior": {"bounds": (-1, 1), "prior": np.linspace(0, 1, POINTS)},
    "private number": {"bounds": (-1, 1), "unit": PrivacyUnit("person", "add-remove")},
    "public divisor": {"bounds": (-1, 1), "unit": PrivacyUnit("person", "add-remove", 50)},
    "box": {"bounds": (-1, 1), "basis": BoxBasis.on_grid("cosine", (3, 4), [(0, 1), (0, 1)], 5)},
    "limits": {"bounds": (np.linspace(-1, 0, POINTS), np.linspace(0, 2, POINTS)), "invalid": "repair"},
}


def started(estimator, sizes, columns=None):
    """Keys of custodians and coordinator, and their agreement."""
    private = estimator.settings.unit.neighbours == "add-remove"
    named = zip(NAMES[: len(sizes)], sizes, strict=True)
    own = [Keys.make(name, None if private else size) for name, size in named]
    lead = Keys.make("registry")
    return own, lead, agree(estimator, [keys.card for keys in own], lead, columns)


def exact(total):
    return exact_totals(total), total.count_with_noise(0, 1)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", MEANS)
def test_the_total_is_that_of_one_fit_integer_for_integer(kind, grouped):
    # So few that distances are not measured: sums are over cells on both roads.
    estimator = PrivateMean(0.5, **{"unit": "person", **MEANS[kind]})
    blocks, owners = np.split(RECORDS, CUTS), np.split(PEOPLE, CUTS)
    whose = [who if grouped else None for who in owners]
    sizes = [len(set(who)) if grouped else len(who) for who in owners]
    own, lead, agreement = started(estimator, sizes, POINTS)
    made = zip(own, blocks, whose, strict=True)
    parts = [part(agreement, keys, block, who) for keys, block, who in made]
    whole = estimator.prepare(RECORDS, PEOPLE if grouped else None)
    agreed = pooled(estimator_of(agreement), sum(sizes))
    total = agreed.summation.prepared(joined(agreement, lead, parts[::-1])).total
    assert exact(total) == exact(whole.total)
    assert agreed.plan.trial.noise == whole.plan.trial.noise
    release = merge(agreement, parts, lead)
    assert release.guarantee == estimator.asked()
    assert release.unit == "person"
    if whole.plan.public_design is not None:
        assert release.noise == whole.plan.public_design.noise


@pytest.mark.parametrize("unit", [PrivacyUnit("person"), PrivacyUnit("person", "add-remove", 40)])
def test_a_density_is_that_of_one_fit_too(unit):
    points, cells = RECORDS[:, :2], 7**2
    density = PrivateDensity(1.0, domain=[(-1, 1), (-1, 1)], unit=unit, cells=7, invalid="repair")
    blocks, owners = np.split(points, CUTS), np.split(PEOPLE, CUTS)
    own, lead, agreement = started(density, [len(set(who)) for who in owners])
    made = zip(own, blocks, owners, strict=True)
    parts = [part(agreement, keys, block, who) for keys, block, who in made]
    opened, whole = joined(agreement, lead, parts), density.prepare(points, PEOPLE)
    assert opened.with_noise([0] * cells) == whole.total.with_noise([0] * cells)
    release = merge(agreement, parts, lead)
    assert release.unit == "person"
    assert release.integral((-1, -1), (1, 1)) == pytest.approx(1.0)
    assert release.guarantee == whole.plan.guarantee


@pytest.mark.parametrize("unit", [PrivacyUnit("person"), PrivacyUnit("person", "add-remove")])
@pytest.mark.parametrize("center", ["bound", 0.2, np.linspace(-0.5, 0.5, POINTS)])
def test_a_covariance_around_a_public_center_is_that_of_one_fit_too(center, unit):
    covariance = PrivateCovariance(1.0, bounds=(-1, 1), center=center, unit=unit)
    blocks, owners = np.split(RECORDS, CUTS), np.split(PEOPLE, CUTS)
    own, lead, agreement = started(covariance, [len(set(who)) for who in owners], POINTS)
    made = zip(own, blocks, owners, strict=True)
    parts = [part(agreement, keys, block, who) for keys, block, who in made]
    prepared = covariance.prepare(RECORDS, PEOPLE)
    stage = Stage(prepared.plan, 1.0, prepared.plan.center, None)
    size = pooled(estimator_of(agreement), len(set(PEOPLE))).functions
    whole = outer_sum(prepared.total, stage, size)
    opened, nothing = joined(agreement, lead, parts), [0] * (size * (size + 1) // 2)
    assert opened.with_noise(nothing) == whole.with_noise(nothing)
    release = merge(agreement, parts, lead)
    assert (release.unit, release.guarantee) == ("person", PureDP(1))
    if unit.neighbours == "replace-one":
        assert release.count == len(set(PEOPLE))
    private = PrivateCovariance(1.0, bounds=(-1, 1), center="private")
    with pytest.raises(ParameterError, match="center must be public"):
        started(private, [10, 10], POINTS)


@pytest.mark.parametrize("unit", [PrivacyUnit("person"), PrivacyUnit("person", "add-remove")])
@pytest.mark.parametrize("bounds", [(-1.0, 1.5), L2Ball(0.6)])
def test_a_comparison_is_that_of_one_fit_too(bounds, unit):
    comparison = PrivateComparison(1.0, bounds=bounds, levels=["case", 7], unit=unit)
    case = np.array(["case", 7, 7], dtype=object)[PEOPLE % 3]
    blocks, owners, said = (np.split(each, CUTS) for each in (RECORDS, PEOPLE, case))
    own, lead, agreement = started(comparison, [len(set(who)) for who in owners], POINTS)
    made = zip(own, blocks, owners, said, strict=True)
    parts = [part(agreement, keys, *these) for keys, *these in made]
    agreed = pooled(estimator_of(agreement), len(set(PEOPLE)))
    names, whole = comparison.prepare(RECORDS, case, PEOPLE)
    sums = agreed.prepared(joined(agreement, lead, parts))
    assert [exact(each.total) for each in sums] == [exact(each.total) for each in whole]
    assert [each.plan.trial.noise for each in sums] == [each.plan.trial.noise for each in whole]
    release = merge(agreement, parts, lead)
    assert (release.names, release.unit, release.guarantee) == (tuple(names), "person", PureDP(1))


def test_the_command_releases_a_density_of_columns_with_names_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, column in (("north", "age"), ("south", "alter")):
        run("keys", name, "--units", 40)
        values = "\n".join(f"{value:.3f}" for value in np.linspace(20, 80, 40))
        (tmp_path / f"{name}.csv").write_text(f"{column}\n{values}\n")
    run("keys", "registry")
    cards, lead = ["north.card", "south.card"], ["--keys", "registry.keys", "--epsilon", 1]
    made = run("agree", "density", *cards, *lead, "--column", "age:0:105", "--out", "agreed.json")
    assert made.exit_code == 0, made.output
    hashed = re.search(r"fingerprint: +(\S+)", made.stdout)[1]
    for name, column in (("north", "age"), ("south", "alter")):
        made = run(*arguments(name, hashed), "--columns", column)
        assert made.exit_code == 0, made.output
    merged = ["--agreement", "agreed.json", "--keys", "registry.keys", "--out", "ages.json"]
    tried = json.loads(run("merge", "north.part", *merged, "--dry-run", "--json").stdout)
    assert (tried["missing"], tried["guarantee"]) == ("south", "1-differential privacy (pure)")
    assert not (tmp_path / "ages.json").exists()
    made = run("merge", "north.part", "south.part", *merged, "--json")
    assert json.loads(made.stdout)["files"] == {"release": "ages.json"}
    assert load("ages.json").about["domain"] == "age"


def test_the_command_compares_groups_that_are_named_beforehand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("keys", "registry")
    for name, group in (("north", "case"), ("south", "control")):
        run("keys", name, "--units", 30)
        rows = [f"{group}," + ",".join(f"{value:.3f}" for value in row) for row in RECORDS[:30, :5]]
        (tmp_path / f"{name}.csv").write_text("\n".join(["group,a,b,c,d,e", *rows]) + "\n")
    asked = ["agree", "compare", "north.card", "south.card", "--keys", "registry.keys", "--epsilon", 1]
    asked += ["--bounds", -1, 1.5, "--points", 5, "--out", "agreed.json"]
    assert "--by must be given" in stops(*asked, "--by", "group")
    made = run(*asked, "--by", "group:case,control")
    assert made.exit_code == 0, made.output
    hashed = re.search(r"fingerprint: +(\S+)", made.stdout)[1]
    for name in ("north", "south"):
        given = [*arguments(name, hashed), "--columns", "?"]
        assert "--by must name the column with the groups of a comparison" in stops(*given)
        made = run(*given, "--by", "group")
        assert made.exit_code == 0, made.output
    merged = ["--agreement", "agreed.json", "--keys", "registry.keys", "--out", "groups.json"]
    made = run("merge", "north.part", "south.part", *merged)
    assert made.exit_code == 0, made.output
    assert load("groups.json").names == ("case", "control")
    assert {name: mean.count for name, mean in load("groups.json").means.items()} == {
        "case": 30,
        "control": 30,
    }


def test_no_total_reaches_what_was_agreed_as_the_largest():
    """All records at the bound: the largest totals there are, before and after the public matrix."""
    for bounds, value in (((-1.0, 1.5), 1.5), (L2Ball(0.6), 1e9), (L1Ball(1.1), -1e9)):
        estimator = PrivateMean(1.0, bounds=bounds)
        _, _, agreement = started(estimator, [30, 30], POINTS)
        prepared = estimator.prepare(np.full((60, POINTS), value))
        largest = max(abs(number) for number in exact(prepared.total)[0])
        assert 0 < largest <= agreement.largest
        assert agreement.largest << 128 < agreement.modulus


def test_parameters_are_read_as_they_were_written():
    for given in MEANS.values():
        estimator = PrivateMean(0.1, **given)
        written = json.loads(json.dumps(written_parameters(estimator)))
        again = estimator_from(PrivateMean, written)
        assert written_parameters(again) == written
    with pytest.raises(ParameterError, match="bounds must be something that a file can hold"):
        written_parameters(PrivateMean(1.0, bounds=object()))


def test_what_cannot_be_agreed_on_is_refused():
    two = [Keys.make(name, 30) for name in NAMES[:2]]
    cards, lead = [keys.card for keys in two], Keys.make("registry")
    mean = PrivateMean(1.0, bounds=(0, 1))
    for estimator, said in (
        (PrivateMean(bounds=(0, 1)), "epsilon"),
        (PrivateMean(1.0), "bounds must be"),
        (PrivateMean(1.0, bounds=(0, 1), basis=lambda s, t: np.exp(-abs(s - t))), "a file can hold"),
        (PrivateMean(1.0, bounds=L1Ball(1.0), mechanism="iclp-l1"), "have no thresholds"),
        (
            PrivateMean(1.0, bounds=(0, 1), unit=PrivacyUnit("person", "add-remove")),
            "where it is private",
        ),
        (PrivateComparison(1.0, bounds=(0, 1)), "levels must be given where the records lie"),
        (PrivateFPCA(1.0, bounds=(0, 1)), "center must be public where"),
        (PrivateCox(1.0, covariates={"age": (0, 1)}, domain=(0, 1)), "estimator must be one of"),
    ):
        with pytest.raises(ParameterError, match=said):
            agree(estimator, cards, lead, POINTS)
    with pytest.raises(ParameterError, match="its number of units, which is public"):
        agree(mean, [cards[0], replace(cards[1], units=None)], lead, POINTS)


def test_other_data_than_agreed_are_refused_and_the_keys_remain():
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)), [30, 30], POINTS)
    with pytest.raises(DataError, match=r"hold the 30 units that were agreed; found 29\. Their number"):
        part(agreement, own[0], RECORDS[:29])
    with pytest.raises(ParameterError, match="be left out where the agreement names no unit"):
        part(agreement, own[0], RECORDS, PEOPLE)
    of_persons, _, named = started(PrivateMean(1.0, bounds=(0, 1), unit="person"), [30, 30], POINTS)
    with pytest.raises(DataError, match="Each row counts as one person, unless groups says whose it is"):
        part(named, of_persons[0], RECORDS)
    with pytest.raises(DataError, match="one column a grid point"):
        part(agreement, own[0], RECORDS[:30, :5])
    parts = [part(agreement, keys, RECORDS[:30]) for keys in own]
    assert merge(agreement, parts, lead).count == 60


def test_an_agreement_on_other_integers_is_refused():
    """Signed, and still wrong: the hash of the rule, the length or the room of another computation."""
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)), [30, 30], POINTS)
    for changed in ({"rule": "00"}, {"numbers": POINTS + 1}, {"largest": 2**90}):
        with pytest.raises(CustodyError, match="must make the same integers of a record here"):
            part(replace(agreement, **changed).signed(lead), own[0], RECORDS[:30])
    with pytest.raises(CustodyError, match="parameters cannot be read"):
        part(replace(agreement, summary={"name": "median"}).signed(lead), own[0], RECORDS[:30])


def test_a_session_of_other_signs_is_refused():
    _, _, agreement = started(PrivateMean(1.0, bounds=(0, 1)), (3, 2), 12)
    for session in ("ab\x1b[3A", "a" * 31, "A" * 32, "a" * 33, 7):
        with pytest.raises(CustodyError, match="must be 32 hexadecimal digits"):
            replace(agreement, session=session)


def test_words_have_the_guarantee_as_it_was_read():
    _, _, agreement = started(PrivateMean(1.0, bounds=(0, 1)), (3, 2), 12)
    summary = json.loads(json.dumps(dict(agreement.summary)))
    summary["parameters"]["epsilon"] = {"fraction": "1." + "0" * 70 + "e3"}
    assert "guarantee:    1000-differential privacy" in words(replace(agreement, summary=summary))


def test_what_is_no_single_sum_is_not_agreed_on():
    with pytest.raises(ParameterError, match="variance must be None"):
        started(PrivateMean(1.0, bounds=(0, 1), variance=0.3), (3, 2), 12)


def test_an_agreement_in_words_shows_what_people_compare_and_nothing_hidden():
    _, lead, agreement = started(PrivateMean(0.5, bounds=(0, 1), unit="person"), [30, 30], POINTS)
    told = words(agreement)
    for part_of in (
        "mean of east (30), north (30)",
        "0.5-differential privacy",
        "name person",
        "clipped to [0, 1]",
    ):
        assert part_of in told
    assert told.endswith(agreement.fingerprint)
    named = {**agreement.summary["parameters"], "name": "per\x1b[2Kson"}
    sly = replace(agreement, summary={**agreement.summary, "parameters": named}).signed(lead)
    with pytest.raises(CustodyError, match=r"unit must be words .*; found U\+001B"):
        words(sly)


def test_the_charge_comes_first_and_a_refusal_leaves_the_keys():
    ledger = MemoryLedger().create("all clinics", PureDP(1), unit="record")
    for epsilon, paid in ((2.0, False), (1.0, True)):
        own, lead, agreement = started(PrivateMean(epsilon, bounds=(0, 1)), [30, 30], POINTS)
        parts = [part(agreement, keys, RECORDS[:30]) for keys in own]
        if paid:
            merge(agreement, parts, lead, ledger.of("all clinics"))
            with pytest.raises(CustodyError, match="were used"):
                merge(agreement, parts, lead)
        else:
            with pytest.raises(BudgetError):
                merge(agreement, parts, lead, ledger.of("all clinics"))
            assert merge(agreement, parts, lead).count == 60


@pytest.mark.parametrize("private", [False, True])
def test_masks_that_do_not_cancel_are_seen_without_a_look_at_the_total(private):
    """Before the charge where numbers of units are public, else from the noisy numbers."""
    unit = PrivacyUnit("person", "add-remove" if private else "replace-one")
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1), unit=unit), [30, 30], POINTS)
    honest = part(agreement, own[0], RECORDS[:30])
    # Numbers all over the modulus instead of sums.
    wild = IntegerSum(POINTS).add_totals([5**130 + k for k in range(POINTS)], 7**59)
    ledger = MemoryLedger().create("all", PureDP(1), unit.neighbours, "person")
    with pytest.raises(CustodyError, match="not made as agreed") as refused:
        merge(agreement, [honest, masked(agreement, own[1], wild)], lead, ledger.of("all"))
    assert ("What was charged before stays charged" in str(refused.value)) is private
    assert (ledger.spent("all").values == (0,)) is not private


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_how_gaps_are_read_is_said_to_be_agreed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("north", "south"):
        run("keys", name, "--units", 3)
    (tmp_path / "north.csv").write_text("0,1,2\n.1,.2,.3\n.2,,.4\n.1,.1,.2\n")
    run("keys", "registry")
    asked = ("north.card", "south.card", "--keys", "registry.keys", "--epsilon", 1, "--bounds", 0, 1)
    assert "--points must be given, or --grid" in stops("agree", "mean", *asked, "--out", "agreed.json")
    made = run("agree", "mean", *asked, "--points", 3, "--out", "agreed.json")
    hashed = re.search(r"fingerprint: +(\S+)", made.stdout)[1]
    common = ("--agreement", "agreed.json", "--keys", "north.keys", "--fingerprint", hashed)
    said = stops("part", "north.csv", *common, "--out", "north.part")
    assert "Use --missing complete to fill gaps" in said
    assert "make another (dpfda agree), with this." in said


def stops(*arguments):
    made = run(*arguments)
    assert made.exit_code == 2, made.output
    return " ".join(made.stderr.split())


# A process that is lost between its sum and its part.
LOST = """
import os, signal
from dpfda.publication.custody import Keys
Keys.use_up = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
from dpfda.front import main
main()
"""


@pytest.fixture
def clinics(tmp_path, monkeypatch):
    """A folder with five custodians' files, cards and keys, a registry's, and their agreement."""
    monkeypatch.chdir(tmp_path)
    header = ",".join(map(str, range(POINTS)))
    for name, block in zip(NAMES, np.split(RECORDS, CUTS), strict=True):
        np.savetxt(f"{name}.csv", block, delimiter=",", header=header, comments="")
        Keys.make(name, len(block)).save(f"{name}.keys")
        Keys.load(f"{name}.keys").save_card(f"{name}.card")
        shutil.copy(f"{name}.keys", f"{name}.copy")
    made = Keys.make("registry")
    made.save("registry.keys")
    parameters = ["--epsilon", "1", "--bounds", "-1", "1.5", "--mechanism", "laplace"]
    cards = [f"{name}.card" for name in NAMES]
    grid = ["--grid", f"0:{POINTS - 1}:1"]
    told = run(
        "agree", "mean", *cards, "--keys", "registry.keys", *parameters, *grid, "--out", "agreed.json"
    )
    assert told.exit_code == 0, told.output
    return re.search(r"fingerprint: +(\S+)", told.stdout)[1]


def arguments(name, fingerprint, **other):
    given = {"agreement": "agreed.json", "keys": f"{name}.keys", "out": f"{name}.part"} | other
    options = [text for key, value in given.items() for text in (f"--{key}", value)]
    return ["part", f"{name}.csv", "--fingerprint", fingerprint, *options]


def test_five_custodians_of_which_one_dies_one_lies_and_one_sends_twice(clinics, tmp_path):
    assert run("part", "--agreement", "agreed.json").stdout.count(clinics) == 1
    # The one that is killed and another are processes of their own, at the same time.
    running = {}
    for name, program in {"east": ["-c", LOST], NAMES[-1]: ["-m", "dpfda"]}.items():
        command = [sys.executable, *program, *arguments(name, clinics)]
        running[name] = subprocess.Popen(command)  # noqa: S603
    for name in set(NAMES) - running.keys():
        assert run(*arguments(name, clinics)).exit_code == 0
    status = {name: process.wait(100) for name, process in running.items()}
    assert status == {"east": -signal.SIGKILL, NAMES[-1]: 0}
    merged = ["--agreement", "agreed.json", "--keys", "registry.keys", "--out", "fa.json"]
    parts = {name: f"{name}.part" for name in NAMES[1:]}
    assert "must be there; missing: east." in stops("merge", *parts.values(), *merged)

    # One puts a wider bound into its agreement: its own process does not take it ..
    agreed = json.loads((tmp_path / "agreed.json").read_text())
    wider = json.loads(json.dumps(agreed).replace("1.5", "9.5"))
    (tmp_path / "wider.json").write_text(json.dumps(wider))
    lying = arguments("east", clinics, agreement="wider.json")
    assert "'wider.json' must be as it was signed" in stops(*lying)
    # .. nor signed by the liar, for its fingerprint; and if it is made to, nobody else takes the part.
    own, true = Keys.load("east.copy"), Agreement.load("agreed.json")
    liar = replace(true, coordinator=replace(Keys.make("registry").card), summary={"name": "mean"})
    assert liar.fingerprint != true.fingerprint
    lie = masked(liar, own, IntegerSum(POINTS)).save("east.part")
    refusal = stops("merge", lie, *parts.values(), *merged)
    assert "The part of east must be made under this agreement; found another." in refusal
    (tmp_path / "east.part").unlink()

    # It comes back with the keys that it had, and sends the same part twice: that counts once.
    assert run(*arguments("east", clinics)).exit_code == 0
    assert "were used" in stops(*arguments("east", clinics, out="again.part"))
    parts["east"] = "east.part"
    # One has kept a copy of its keys, and sends another part too.
    second = arguments("west", clinics, keys="west.copy", out="second.part")
    np.savetxt(
        "west.csv", RECORDS[:15], delimiter=",", header=",".join(map(str, range(POINTS))), comments=""
    )
    assert run(*second).exit_code == 0
    refusal = stops("merge", *parts.values(), "second.part", *merged)
    assert "There must be one part a custodian; found two different ones of west." in refusal

    coordinator, every = Keys.load("registry.keys"), [Part.load(file) for file in parts.values()]
    total = joined(Agreement.load("agreed.json"), coordinator, every)
    estimator = estimator_of(Agreement.load("agreed.json"))
    expected = estimator.prepare(RECORDS)
    assert exact(pooled(estimator, 60).summation.prepared(total).total) == exact(expected.total)

    done = run("merge", *parts.values(), parts["east"], *merged)
    assert done.exit_code == 0, done.output
    release = load("fa.json")
    assert release.count == 60
    assert release.noise == expected.plan.public_design.noise
    assert "were used" in stops("merge", *parts.values(), *merged[:-1], "fb.json")


def test_a_ledger_that_is_named_once_is_not_asked_where_the_coordinator_draws(clinics, monkeypatch):
    name = NAMES[0]
    monkeypatch.setenv("DPFDA_LEDGER", "mine.db")
    monkeypatch.setenv("DPFDA_DATASET", "scans")
    assert run("ledger", "create", "mine.db", "--dataset", "scans", "--epsilon", 9).exit_code == 0
    asked = arguments(name, clinics, ledger="other.db", dataset="scans")
    assert run("ledger", "create", "other.db", "--dataset", "scans", "--epsilon", 9).exit_code == 0
    assert "--ledger must be the coordinator's" in stops(*asked)
    made = run(*arguments(name, clinics))
    assert made.exit_code == 0, made.output
    assert json.loads(run("ledger", "show", "mine.db", "--json").stdout)["scans"]["releases"] == []


def test_the_fingerprint_is_asked_for_before_anything_is_read(clinics):
    missing = arguments("east", clinics)
    del missing[2:4]
    assert "--fingerprint must be given with FILE" in stops(*missing)
    other = arguments("east", clinics[:-1] + ("0" if clinics[-1] != "0" else "1"))
    assert "ask the other custodians, not the coordinator" in stops(*other)
    assert Keys.load("east.keys").card.name == "east"
