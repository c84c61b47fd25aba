"""The ledger: exact, durable, never over, never forked."""

import copy
import json
import math
import multiprocessing
import os
import pickle
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from csv_rows import csv_rows
from dpfda import Domain, PrivateMean
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import (
    BudgetError,
    IncompatibleChargeError,
    LedgerError,
    ParameterError,
    UnknownDatasetError,
)
from dpfda.privacy.composition import (
    Cost,
    GaussianLoss,
    LaplaceLoss,
    gaussian_rho,
    laplace_rho,
    pure_rho,
)
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, guarantee_for
from dpfda.privacy.ledger import Ledger, MemoryLedger, disk, lines
from ledger_processes import ENTRY, charge_until_killed, race, race_of_units

PERSON = {**ENTRY, "privacy_unit": "person"}
ADD_REMOVE = {"neighbours": "add-remove", "privacy_unit": "record"}
GRID = np.linspace(0.0, 1.0, 12)
CURVES = np.sin(3 * GRID) * np.linspace(-1, 1, 40)[:, None]
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    return Ledger(tmp_path / "budgets.sqlite") if request.param == "file" else MemoryLedger()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budgets.sqlite"


# --- exactness ---


def test_ten_tenths_fill_a_budget_of_one_and_nothing_more_fits(ledger):
    ledger.create("scans", PureDP(1))
    for _ in range(10):
        ledger.charge("scans", PureDP(0.1), ENTRY)
    assert ledger.spent("scans")["epsilon"] == 1
    assert ledger.remaining("scans")["epsilon"] == 0
    with pytest.raises(
        BudgetError, match=r"at most what is left of its budget, epsilon 0; found epsilon 1e-30"
    ):
        ledger.charge("scans", PureDP("1e-30"), ENTRY)
    assert len([r for r in ledger.history("scans") if r.action == "charge"]) == 10


@given(st.lists(st.fractions(Fraction(1, 10**12), 3), min_size=1, max_size=25))
@settings(deadline=None, max_examples=100)
def test_the_ledger_admits_exactly_what_a_plain_sum_admits(charges):
    ledger = MemoryLedger().create("scans", PureDP(5))
    total = Fraction(0)
    for charge in charges:
        if total + charge <= 5:
            ledger.charge("scans", PureDP(charge), ENTRY)
            total += charge
        else:
            with pytest.raises(BudgetError) as caught:
                ledger.charge("scans", PureDP(charge), ENTRY)
            assert caught.value.remaining["epsilon"] == 5 - total
            assert caught.value.asked["epsilon"] == charge
    assert ledger.spent("scans")["epsilon"] == total
    ledger.check()


def test_amounts_are_stored_as_exact_text(path):
    Ledger(path).create("scans", PureDP(1)).charge("scans", PureDP(Fraction(1, 3)), ENTRY)
    row = json.loads(path.read_text().splitlines()[-1])["row"]
    assert row["cost"] == row["spent"] == {"epsilon": "1/3"}


def test_both_terms_of_an_approximate_budget_are_kept(ledger):
    ledger.create("scans", ApproximateDP(10, "3e-6"))
    for _ in range(3):
        ledger.charge("scans", ApproximateDP(1, "1e-6"), ENTRY)
    assert ledger.remaining("scans").values == (Fraction(7), Fraction(0))
    with pytest.raises(BudgetError, match="epsilon 7, delta 0; found epsilon 1, delta 1e-30"):
        ledger.charge("scans", ApproximateDP(1, "1e-30"), ENTRY)
    # A pure release needs no delta.
    ledger.charge("scans", PureDP(7), ENTRY)
    assert ledger.remaining("scans").values == (Fraction(0), Fraction(0))


# --- kinds, neighbours, units ---


def test_a_pure_charge_to_a_concentrated_budget_costs_the_rho_of_its_law(ledger):
    ledger.create("scans", ZeroConcentratedDP(2))
    ledger.charge("scans", PureDP(1), ENTRY)
    ledger.charge("scans", Cost(PureDP(1), LaplaceLoss(1)), ENTRY)
    ledger.charge("scans", ZeroConcentratedDP("0.25"), ENTRY)
    expected = pure_rho(Fraction(1)) + laplace_rho(Fraction(1)) + Fraction(1, 4)
    assert ledger.spent("scans")["rho"] == expected
    asked = [record.asked for record in ledger.history() if record.asked]
    assert [a["costs"][0]["loss"]["kind"] for a in asked] == ["pure", "laplace", "zero-concentrated"]
    assert [a["kind"] for a in asked] == ["pure", "pure", "zero-concentrated"]


def test_a_gaussian_charge_to_a_concentrated_budget_costs_its_own_rho(ledger):
    ledger.create("scans", ZeroConcentratedDP(1))
    one = ApproximateDP(1, "1e-6")
    cost = Cost(one, GaussianLoss(gaussian_rho(one)))
    ledger.charge("scans", cost, ENTRY)
    assert ledger.spent("scans")["rho"] == cost.rho


@pytest.mark.parametrize(
    ("budget", "charge", "words"),
    [
        (
            PureDP(5),
            ApproximateDP(1, "1e-9"),
            r"kind, pure.*found \(1, 1e-09\).*Release under.*kind pure",
        ),
        (PureDP(5), ZeroConcentratedDP("0.1"), "kind, pure.*budget of kind zero-concentrated"),
        (ApproximateDP(5, "0.1"), ZeroConcentratedDP("0.1"), r"approximate.*compose\(\[guarantee\]"),
        (
            ZeroConcentratedDP(5),
            ApproximateDP(1, "1e-9"),
            "kind, zero-concentrated.*of kind approximate",
        ),
    ],
)
def test_kinds_that_do_not_convert_are_refused(ledger, budget, charge, words):
    ledger.create("scans", budget)
    with pytest.raises(IncompatibleChargeError, match=words) as caught:
        ledger.charge("scans", charge, ENTRY)
    assert isinstance(caught.value, BudgetError)
    assert caught.value.asked == charge
    assert not any(ledger.spent("scans").values)


def test_an_add_remove_charge_costs_two_steps_of_a_replace_one_budget(ledger):
    ledger.create("pure", PureDP(1))
    ledger.charge("pure", PureDP("0.3"), ADD_REMOVE)
    assert ledger.spent("pure")["epsilon"] == Fraction(6, 10)
    with pytest.raises(BudgetError, match=r"found epsilon 0\.6"):
        ledger.charge("pure", PureDP("0.3"), ADD_REMOVE)
    ledger.create("concentrated", ZeroConcentratedDP(1))
    ledger.charge("concentrated", ZeroConcentratedDP("0.25"), ADD_REMOVE)
    assert ledger.remaining("concentrated")["rho"] == 0
    ledger.create("approximate", ApproximateDP(50, "0.1"))
    ledger.charge("approximate", ApproximateDP(1, "1e-6"), ADD_REMOVE)
    epsilon, delta = ledger.spent("approximate").values
    assert epsilon == 2
    assert float(delta) == pytest.approx((1 + np.e) * 1e-6, rel=1e-12)
    with pytest.raises(IncompatibleChargeError, match="delta must stay below 1"):
        ledger.charge("approximate", ApproximateDP(20, "0.01"), ADD_REMOVE)


def test_a_replace_one_charge_says_nothing_in_an_add_remove_budget(ledger):
    ledger.create("scans", PureDP(1), neighbours="add-remove")
    with pytest.raises(IncompatibleChargeError, match="nothing of data sets of different size"):
        ledger.charge("scans", PureDP("0.1"), ENTRY)
    ledger.charge("scans", PureDP("0.1"), ADD_REMOVE)
    assert ledger.spent("scans")["epsilon"] == Fraction(1, 10)


def test_a_charge_for_another_unit_is_refused(ledger):
    ledger.create("scans", PureDP(1), unit="person")
    with pytest.raises(
        IncompatibleChargeError, match="must be 'person', as in its budget; found 'record'"
    ):
        ledger.charge("scans", PureDP("0.1"), ENTRY)
    assert ledger.spent("scans")["epsilon"] == 0


def test_a_budget_for_records_tells_nobody_to_protect_persons_less(ledger):
    ledger.create("scans", PureDP(1), unit="record")
    with pytest.raises(IncompatibleChargeError, match="must be 'record'") as caught:
        ledger.charge("scans", PureDP("0.1"), PERSON)
    assert "Group the records" not in str(caught.value)
    # What is said to help does.
    assert "to another data set of the ledger, whose budget is created for that unit" in str(
        caught.value
    )
    ledger.create("scans by person", PureDP(1), unit="person")
    ledger.charge("scans by person", PureDP("0.1"), PERSON)


def test_the_first_release_states_the_unit_of_a_budget_without_one(ledger):
    ledger.create("scans", PureDP(1)).create("loads", PureDP(1))
    assert ledger.budget("scans").unit is None
    assert "per unit of its first release" in ledger.show("scans")
    ledger.charge("scans", PureDP("0.1"), PERSON)
    assert ledger.budget("scans").unit == "person"
    assert ledger.budget("loads").unit is None
    with pytest.raises(IncompatibleChargeError, match="must be 'person', as in its budget; found 'reco"):
        ledger.charge("scans", PureDP("0.1"), ENTRY)
    # The same script, run again.
    ledger.create("scans", PureDP(1)).create("scans", PureDP(1), unit="person")
    with pytest.raises(LedgerError, match="must keep its budget"):
        ledger.create("scans", PureDP(1), unit="record")
    ledger.raise_budget("scans", PureDP(2), "more")
    assert ledger.budget("scans").unit == "person"
    ledger.charge("loads", PureDP("0.1"), ENTRY)
    assert [row["unit"] for row in ledger.releases()] == ["person", "record"]
    ledger.check()


def test_a_refused_release_states_no_unit(ledger):
    ledger.create("scans", PureDP(1))
    with pytest.raises(BudgetError):
        ledger.charge("scans", PureDP(2), PERSON)
    assert ledger.budget("scans").unit is None


def test_a_data_sets_account_takes_the_unit_of_its_first_release(ledger):
    ledger.create("scans", PureDP(1))
    people = np.repeat(np.arange(20), 2)
    mean = estimator(ledger, 0.1).set_params(unit="person")
    assert mean.fit(CURVES, groups=people).release_.unit == "person"
    with pytest.raises(IncompatibleChargeError, match=r"Costs .* group the records by person"):
        estimator(ledger, 0.1).fit(CURVES)


def test_two_first_releases_at_once_never_state_two_units(path):
    names = [f"data {i}" for i in range(8)]
    for name in names:
        Ledger(path).create(name, PureDP(10))
    gate, results = SPAWN.Barrier(2), SPAWN.Queue()
    racers = [
        SPAWN.Process(target=race_of_units, args=(path, gate, results, unit, names))
        for unit in ("person", "record")
    ]
    for racer in racers:
        racer.start()
    charged = dict(results.get(timeout=60) for _ in racers)
    for racer in racers:
        racer.join()
    # Of each data set one of the two was first, and the other was refused.
    assert sorted(charged["person"] + charged["record"]) == names
    for unit, own in charged.items():
        assert all(Ledger(path).budget(name).unit == unit for name in own)
    Ledger(path).check()


# --- what is refused changes nothing ---


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"privacy_unit": "record"}, "entry must have the key 'neighbours'"),
        ({**ENTRY, "privacy_unit": None}, "privacy_unit must be a printable, non-empty text"),
        ({"neighbours": "replace-one"}, "entry must have the key 'privacy_unit'"),
        ({**ENTRY, "neighbours": "sideways"}, "neighbours must be 'replace-one' or 'add-remove'"),
        ({**ENTRY, "bound": float("nan")}, "entry must consist of JSON types"),
    ],
)
def test_an_entry_that_cannot_be_kept_is_refused(ledger, entry, words):
    ledger.create("scans", PureDP(1))
    with pytest.raises(ParameterError, match=words):
        ledger.charge("scans", PureDP("0.1"), entry)
    assert ledger.spent("scans")["epsilon"] == 0
    assert len(ledger.history()) == 1


def test_zero_and_negative_charges_do_not_exist(ledger):
    ledger.create("scans", PureDP(1))
    for epsilon in (0, -1, "-1e-30"):
        with pytest.raises(ParameterError, match="epsilon must be positive"):
            ledger.charge("scans", PureDP(epsilon), ENTRY)
    with pytest.raises(ParameterError, match="guarantee must be a PureDP"):
        ledger.charge("scans", -0.5, ENTRY)
    assert ledger.spent("scans")["epsilon"] == 0


def test_a_charge_with_too_many_digits_is_refused(ledger):
    ledger.create("scans", PureDP(1))
    with pytest.raises(ParameterError, match="fewer than 4,300 digits"):
        ledger.charge("scans", PureDP(Fraction(1, 10**5000)), ENTRY)
    assert len(ledger.history()) == 1


def test_an_unknown_data_set_is_an_error_with_a_remedy(ledger):
    ledger.create("scans", PureDP(1))
    for action in (
        lambda: ledger.charge("scan", PureDP("0.1"), ENTRY),
        lambda: ledger.spent("scan"),
        lambda: ledger.remaining("scan"),
        lambda: ledger.budget("scan"),
        lambda: ledger.history("scan"),
        lambda: ledger.show("scan"),
        lambda: ledger.note_file("scan", "a.json"),
        lambda: ledger.raise_budget("scan", PureDP(2), "reason"),
    ):
        with pytest.raises(UnknownDatasetError, match=r"found none for 'scan'. Give it one with create"):
            action()


def test_a_second_create_with_another_budget_is_refused(ledger):
    ledger.create("scans", PureDP(1), unit="person")
    ledger.create("scans", PureDP(1.0), unit="person")
    assert len(ledger.history()) == 1
    for other in (
        {"guarantee": PureDP(2), "unit": "person"},
        {"guarantee": PureDP(1), "unit": "record"},
        {"guarantee": PureDP(1), "unit": "person", "neighbours": "add-remove"},
        {"guarantee": ZeroConcentratedDP(1), "unit": "person"},
    ):
        with pytest.raises(LedgerError, match=r"must keep its budget.*Use raise_budget"):
            ledger.create("scans", **other)
    assert str(ledger.budget("scans")) == (
        "1-differential privacy (pure), replace-one neighbours, per person"
    )


@pytest.mark.parametrize("name", ["", "  ", 3])
def test_names_are_printable(ledger, name):
    with pytest.raises(ParameterError, match="dataset must be a printable, non-empty text"):
        ledger.create(name, PureDP(1))
    with pytest.raises(ParameterError, match="unit must be a printable, non-empty text"):
        ledger.create("scans", PureDP(1), unit=name)


@pytest.mark.parametrize("name", ["a\nb", "\udcff", "a\u202eb"])
def test_names_show_as_they_are(ledger, name):
    with pytest.raises(ParameterError, match=r"dataset must be words without .*; found U\+[0-9A-F]{4}"):
        ledger.create(name, PureDP(1))
    with pytest.raises(ParameterError, match=r"unit must be words without .*; found U\+[0-9A-F]{4}"):
        ledger.create("scans", PureDP(1), unit=name)


# --- raising, notes, history, export ---


def test_raising_a_budget_is_a_row_with_a_reason(ledger):
    ledger.create("scans", PureDP(1))
    ledger.charge("scans", PureDP(1), ENTRY)
    ledger.raise_budget("scans", PureDP(2), "approved for the second year")
    assert ledger.remaining("scans")["epsilon"] == 1
    last = ledger.history("scans")[-1]
    assert (last.action, last.details) == ("raise", {"reason": "approved for the second year"})
    decided = ledger.raise_budget("scans", PureDP("2.5"), "a third", who="Dr. Okafor")
    assert decided.details == {"reason": "a third", "who": "Dr. Okafor"}
    with pytest.raises(ParameterError, match="who must be a printable, non-empty text"):
        ledger.raise_budget("scans", PureDP(3), "a fourth", who="")
    with pytest.raises(ParameterError, match="reason must be a printable, non-empty text"):
        ledger.raise_budget("scans", PureDP(3), " ")
    for other in (PureDP(2), PureDP(1), ApproximateDP(3, "1e-6")):
        with pytest.raises(ParameterError, match="guarantee must enlarge the budget of 'scans'"):
            ledger.raise_budget("scans", other, "again")
    ledger.create("other", ApproximateDP(1, "1e-6"))
    with pytest.raises(ParameterError, match="guarantee must enlarge"):
        ledger.raise_budget("other", ApproximateDP(2, "1e-7"), "trade one for the other")
    ledger.check()


def test_the_file_of_a_release_is_noted_afterwards(ledger):
    ledger.create("scans", PureDP(1))
    with pytest.raises(LedgerError, match="must be a row of the history of 'scans'; found none"):
        ledger.note_file("scans", "a.json")
    first = ledger.charge("scans", PureDP("0.1"), ENTRY)
    second = ledger.charge("scans", PureDP("0.1"), ENTRY)
    ledger.note_file("scans", Path("first.json"), first)
    ledger.note_file("scans", "second.json")
    notes = [record.details for record in ledger.history() if record.action == "note"]
    assert notes == [
        {"file": "first.json", "charge": first.number},
        {"file": "second.json", "charge": second.number},
    ]
    assert ledger.spent("scans")["epsilon"] == Fraction(2, 10)
    with pytest.raises(LedgerError, match="found 99"):
        ledger.note_file("scans", "b.json", 99)


def test_history_says_what_when_and_with_which_parameters(ledger):
    before = time.time()
    ledger.create("scans", PureDP(1)).create("loads", ZeroConcentratedDP(1))
    record = ledger.charge("scans", PureDP("0.1"), {**ENTRY, "mechanism": "iclp", "unknown": Path("x")})
    assert ledger.history("scans")[-1] == record
    assert record.details == {**ENTRY, "mechanism": "iclp", "unknown": "x"}
    assert record.time.endswith("+00:00")
    import datetime

    stamp = datetime.datetime.fromisoformat(record.time).timestamp()
    assert before - 1 <= stamp <= time.time() + 1
    assert [r.number for r in ledger.history()] == [1, 2, 3]
    assert ledger.datasets() == ["scans", "loads"]


def test_exports_hold_every_row_and_give_exact_numbers_back(ledger):
    ledger.create("scans", ApproximateDP(1, "1e-6"), unit="person")
    ledger.charge("scans", PureDP(Fraction(1, 3)), {**ENTRY, "privacy_unit": "person", "basis": 'a,"b"'})
    lines = [json.loads(line) for line in ledger.export("jsonl").splitlines()]
    assert [line["action"] for line in lines] == ["create", "charge"]
    assert lines[1]["cost"] == {"epsilon": "1/3", "delta": "0/1"}
    third = {"kind": "pure", "epsilon": "1/3"}
    assert lines[1]["asked"] == {**third, "costs": [{"guarantee": third, "loss": third}]}
    rows = csv_rows(ledger.export("csv").splitlines())
    assert rows[1]["cost"] == "epsilon=1/3 delta=0/1"
    assert json.loads(rows[1]["details"])["basis"] == 'a,"b"'
    assert rows[0]["budget"] == "epsilon=1/1 delta=1/1000000"
    assert ledger.export("jsonl", "scans") == ledger.export("jsonl")
    with pytest.raises(ParameterError, match="form must be one of 'jsonl', 'csv'; found 'xml'"):
        ledger.export("xml")


def test_the_repr_reads_well(path):
    ledger = Ledger(path)
    assert "found none at" in repr(ledger)
    ledger.create("scans", PureDP(1), unit="person")
    ledger.charge("scans", PureDP("0.1"), {**ENTRY, "privacy_unit": "person"})
    assert repr(ledger) == (
        f"Ledger({str(path)!r})\n"
        "  scans: epsilon 0.9 left of 1-differential privacy (pure), replace-one neighbours, "
        "per person\n"
        "    spent epsilon 0.1 on 1 release"
    )
    assert repr(MemoryLedger()) == "MemoryLedger\n  no data sets"


# --- the file ---


def test_another_object_and_a_relative_path_see_the_same_file(path, monkeypatch):
    Ledger(path).create("scans", PureDP(1)).charge("scans", PureDP("0.4"), ENTRY)
    monkeypatch.chdir(path.parent)
    other = Ledger(path.name)
    monkeypatch.chdir("/")
    assert other.remaining("scans")["epsilon"] == Fraction(6, 10)
    assert os.listdir(path.parent) == [path.name]


def test_names_that_a_uri_would_misread_are_files_as_they_are(tmp_path):
    odd = tmp_path / "budget?mode=memory#1 %41.sqlite"
    Ledger(odd).create("scans", PureDP(1))
    assert os.listdir(tmp_path) == [odd.name]


def rewritten(path, change):
    """The file with its rows changed by someone who makes new digests."""
    found = lines.read(path.read_bytes(), "file")
    path.write_bytes(lines.new_file(tuple(change(list(found.rows)))))


def test_check_adds_up_again(path):
    ledger = Ledger(path).create("scans", PureDP(1))
    ledger.charge("scans", PureDP("0.4"), ENTRY)
    ledger.check()
    rewritten(
        path,
        lambda rows: [
            rows[0],
            rows[1].replace(b'"spent": {"epsilon": "2/5"}', b'"spent": {"epsilon": "1/10"}'),
        ],
    )
    with pytest.raises(LedgerError, match="Row 2 must hold the sum of the charges to 'scans'"):
        ledger.check()
    rewritten(path, lambda rows: rows[1:])
    with pytest.raises(LedgerError, match="row 1 is missing"):
        ledger.check()


def every_use(ledger):
    return [
        lambda: ledger.charge("scans", PureDP("0.1"), ENTRY),
        lambda: ledger.spent("scans"),
        ledger.history,
        ledger.check,
    ]


def test_a_missing_file_is_not_made_by_a_charge(path):
    for use in every_use(Ledger(path)):
        with pytest.raises(
            LedgerError,
            match=r"must be an existing file; found none.*Make it with create.*if nothing was released.*"
            "One that was lost must come back from a backup",
        ):
            use()
    assert not path.exists()
    with pytest.raises(LedgerError, match="must be a file in an existing folder"):
        Ledger(path.parent / "nowhere" / "budgets.sqlite").create("scans", PureDP(1))
    with pytest.raises(LedgerError, match="must be a file in an existing folder"):
        Ledger(path.parent).create("scans", PureDP(1))


@pytest.mark.parametrize("content", ["text", "other database", "empty"])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(path, content):
    if content == "text":
        path.write_text("epsilon,delta\n" * 200)
    elif content == "empty":
        path.touch()
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE history (number INTEGER PRIMARY KEY)")
    before = path.read_bytes()
    ledger = Ledger(path)
    for use in every_use(ledger):
        with pytest.raises(LedgerError, match="must be a file that dpfda made"):
            use()
    if content != "empty":
        with pytest.raises(LedgerError, match="must be a file that dpfda made"):
            ledger.create("scans", PureDP(1))
    assert path.read_bytes() == before


def test_a_later_schema_is_refused(path):
    ledger = Ledger(path).create("scans", PureDP(1))
    path.write_bytes(path.read_bytes().replace(b'"schema_version":2', b'"schema_version":3', 1))
    with pytest.raises(LedgerError, match=r"must have schema version 2.*has 3. Update dpfda"):
        ledger.spent("scans")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"spent": {"epsilon": "0/1"}', b'"spent": {}'),
        (b'"budget": {"epsilon": "1/1"}', b'"budget": {"epsilon": "1/0"}'),
        (b'"budget": {"epsilon": "1/1"}', b'"budget": {"epsilon": "1e999999999"}'),
        (b'"details": {}', b'"details": 7'),
        (b'"kind": "pure"', b'"kind": "other"'),
    ],
)
def test_a_damaged_row_is_a_typed_error(path, old, new):
    ledger = Ledger(path).create("scans", PureDP(1))
    assert old in path.read_bytes()
    rewritten(path, lambda rows: [rows[0].replace(old, new)])
    with pytest.raises(LedgerError, match="Row 1 of the ledger is damaged"):
        ledger.charge("scans", PureDP("0.1"), ENTRY)


@contextmanager
def unprivileged():
    """Without the superuser's right to write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="file modes are those of POSIX")
def test_a_read_only_file_can_be_read_and_refuses_a_charge():
    folder = Path(tempfile.mkdtemp())
    path = folder / "budgets.sqlite"
    try:
        ledger = Ledger(path).create("scans", PureDP(1))
        path.chmod(0o444)
        folder.chmod(0o777)
        with unprivileged():
            assert ledger.remaining("scans")["epsilon"] == 1
            with pytest.raises(LedgerError, match=r"read-only\. Change its perm"):
                ledger.charge("scans", PureDP("0.1"), ENTRY)
        assert ledger.spent("scans")["epsilon"] == 0
    finally:
        shutil.rmtree(folder)


def test_a_locked_file_is_a_typed_error_and_nothing_is_charged(path, monkeypatch):
    monkeypatch.setattr("dpfda.privacy.ledger.disk.PATIENCE", 0.05)
    ledger = Ledger(path).create("scans", PureDP(1))
    with disk.locked(path, writing=False), disk.locked(path, writing=False):
        # Readers do not wait for each other.
        with pytest.raises(LedgerError, match="in use by another process"):
            ledger.charge("scans", PureDP("0.1"), ENTRY)
        assert ledger.spent("scans")["epsilon"] == 0
    ledger.charge("scans", PureDP("0.1"), ENTRY)


def test_a_charge_is_in_the_one_file_before_charge_returns(path):
    ledger = Ledger(path).create("scans", PureDP(1))
    ledger.charge("scans", PureDP("0.1"), ENTRY)
    # Another process that reads the file, as it is on disk, already sees it.
    copied = path.with_name("copy.ledger")
    shutil.copyfile(path, copied)
    assert Ledger(copied).spent("scans")["epsilon"] == Fraction(1, 10)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, copied.name])


def test_the_row_is_on_the_disk_before_its_count_and_both_before_charge_returns(path, monkeypatch):
    ledger, done = Ledger(path).create("scans", PureDP(1)), []
    write, sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda d, text: done.append(bytes(text)[:7]) or write(d, text))
    monkeypatch.setattr(os, "fsync", lambda d: done.append("disk") or sync(d))
    ledger.charge("scans", PureDP("0.1"), ENTRY)
    assert done == [b'{"row":', "disk", b'{"rows"', "disk"]


# --- copies, clones, pickles, forks ---


class ReleasesOnce(PrivateMean):
    """A mean with a scorer of its own."""

    def score(self, X, y=None):
        return -float(np.mean((X - self.release_(GRID)) ** 2))


def estimator(ledger, epsilon=0.9):
    return ReleasesOnce(
        epsilon=epsilon, bounds=L2Ball(1.0), domain=Domain(GRID), ledger=ledger.of("scans")
    )


def test_copies_and_clones_are_the_same_ledger(ledger):
    ledger.create("scans", PureDP(1))
    for other in (copy.copy(ledger), copy.deepcopy(ledger), clone(estimator(ledger)).ledger.ledger):
        other.charge("scans", PureDP("0.1"), ENTRY)
    assert ledger.spent("scans")["epsilon"] == Fraction(3, 10)


def test_a_pickled_file_ledger_is_its_path(path):
    ledger = Ledger(path).create("scans", PureDP(1))
    written = pickle.dumps(ledger)
    assert str(path).encode() in written
    assert len(written) < len(str(path)) + 100
    again = pickle.loads(written)  # noqa: S301
    again.charge("scans", PureDP("0.4"), ENTRY)
    assert ledger.spent("scans")["epsilon"] == Fraction(4, 10)


def test_a_memory_ledger_refuses_to_be_pickled():
    ledger = MemoryLedger().create("scans", PureDP(1))
    with pytest.raises(LedgerError, match=r"would fork its budgets. Use Ledger\(path\)"):
        pickle.dumps(estimator(ledger))


def test_a_charge_within_a_charge_in_memory_is_not_lost():
    ledger = MemoryLedger().create("scans", PureDP(1))

    class Charging:
        def __str__(self):
            ledger.charge("scans", PureDP("0.9"), ENTRY)
            return "words"

    with pytest.raises(LedgerError, match="within another"):
        ledger.charge("scans", PureDP("0.9"), {**ENTRY, "words": Charging()})
    assert [str(row.cost) for row in ledger.history()] == ["None", "epsilon 0.9"]
    assert ledger.spent("scans")["epsilon"] == Fraction(9, 10)
    ledger.check()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_shares_a_file_and_refuses_memory(path):
    file, memory = Ledger(path).create("scans", PureDP(1)), MemoryLedger().create("scans", PureDP(1))
    child = os.fork()
    if child == 0:
        # Exit codes tell the parent what happened; nothing of pytest may run here.
        code = 1
        try:
            file.charge("scans", PureDP("0.4"), ENTRY)
            memory.charge("scans", PureDP("0.4"), ENTRY)
        except LedgerError as error:
            code = 7 if "in the process that made it" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert file.spent("scans")["epsilon"] == Fraction(4, 10)
    assert memory.spent("scans")["epsilon"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_until_no_file_is_open(path, monkeypatch):
    """A child that inherits another thread's locked file would hold the lock, too."""
    ledger = Ledger(path).create("scans", PureDP(1))
    inside, leave, events, real = threading.Event(), threading.Event(), [], disk.write_at

    def held(*given):
        inside.set()
        leave.wait(10)
        real(*given)
        events.append("written")

    monkeypatch.setattr(disk, "write_at", held)
    holder = threading.Thread(target=ledger.charge, args=("scans", PureDP("0.4"), ENTRY))
    holder.start()
    inside.wait(10)
    threading.Timer(0.3, leave.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0)
    events.append("forked")
    os.waitpid(child, 0)
    holder.join()
    # The row, and the count that covers it.
    assert events == ["written", "written", "forked"]


# --- races ---


def test_threads_never_overspend(ledger):
    ledger.create("scans", PureDP(1))
    accepted, refused, gate = [], [], threading.Barrier(8)

    def spend():
        gate.wait()
        for _ in range(4):
            try:
                accepted.append(ledger.charge("scans", PureDP(Fraction(1, 7)), ENTRY).number)
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(accepted), len(refused)) == (7, 25)
    assert sorted(accepted) == list(range(2, 9))
    assert ledger.remaining("scans")["epsilon"] == 0
    ledger.check()


def test_four_processes_racing_for_the_last_of_a_budget_never_exceed_it(path):
    # 0.95 is gone; what is left is enough for five of 24 charges.
    ledger = Ledger(path).create("scans", PureDP(1))
    ledger.charge("scans", PureDP("0.95"), ENTRY)
    gate, results = SPAWN.Barrier(4), SPAWN.Queue()
    processes = [SPAWN.Process(target=race, args=(path, gate, results, "0.01")) for _ in range(4)]
    for process in processes:
        process.start()
    outcomes = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    accepted = sorted(number for numbers, _ in outcomes for number in numbers)
    assert accepted == [3, 4, 5, 6, 7]
    assert sum(refused for _, refused in outcomes) == 19
    assert ledger.spent("scans")["epsilon"] == 1
    ledger.check()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_killed_at_any_instant_never_exceed_a_budget_nor_lose_a_charge(path):
    ledger = Ledger(path).create("scans", PureDP("0.5"))
    told = set()
    generator = np.random.default_rng(11)
    # Sixteen pairs at least; more on a machine so busy that its processes die before they tell much.
    for pairs in range(1, 1000):
        pipes, children = [os.pipe() for _ in range(2)], []
        for _, write in pipes:
            child = os.fork()
            if child == 0:
                try:
                    charge_until_killed(path, write)
                finally:
                    os._exit(1)
            children.append(child)
        time.sleep(0.02 + generator.random() * 0.15)
        for child in children:
            os.kill(child, 9)
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        for read, write in pipes:
            os.close(write)
            with os.fdopen(read) as handle:
                told |= {int(line) for line in handle}
        # The next reader finds a sound file, at every death.
        ledger.check()
        if pairs >= 16 and len(told) > 20:
            break
    history = ledger.history("scans")
    charged = {record.number for record in history if record.action == "charge"}
    assert told <= charged
    assert len(told) > 20
    # At most the one charge that each was about to tell of.
    assert len(charged - told) <= 2 * pairs
    assert ledger.spent("scans")["epsilon"] == Fraction(len(charged), 1000) <= Fraction(1, 2)


# --- releases ---


def test_a_release_is_charged_before_any_noise_is_drawn(ledger, monkeypatch):
    ledger.create("scans", PureDP(1))
    real, seen = os.urandom, []

    def entropy(size):
        seen.append(ledger.spent("scans")["epsilon"])
        return real(size)

    monkeypatch.setattr("dpfda.numerics.exactness.os.urandom", entropy)
    estimator(ledger, 0.9).fit(CURVES)
    assert seen
    assert set(seen) == {Fraction(9, 10)}
    details = ledger.history("scans")[-1].details
    assert details["summary"] == "mean curve"
    assert details["privacy_unit"] == "record"


def test_a_refused_release_draws_no_noise(ledger, monkeypatch):
    ledger.create("scans", PureDP("0.5"), unit="record")

    def entropy(size):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("dpfda.numerics.exactness.os.urandom", entropy)
    with pytest.raises(BudgetError):
        estimator(ledger, 0.9).fit(CURVES)
    with pytest.raises(UnknownDatasetError):
        estimator(ledger, 0.9).set_params(ledger=ledger.of("loads")).fit(CURVES)
    with pytest.raises(IncompatibleChargeError):
        estimator(ledger, 0.1).fit(CURVES, groups=np.repeat(np.arange(20), 2))
    with pytest.raises(ParameterError, match="dataset must name the data set"):
        estimator(ledger, 0.1).set_params(ledger=ledger).fit(CURVES)
    assert ledger.spent("scans")["epsilon"] == 0


def test_a_release_that_fails_after_its_charge_stays_charged(ledger, monkeypatch):
    ledger.create("scans", PureDP(1))

    def entropy(size):
        raise OSError("no entropy")

    monkeypatch.setattr("dpfda.numerics.exactness.os.urandom", entropy)
    with pytest.raises(OSError, match="no entropy"):
        estimator(ledger, 0.9).fit(CURVES)
    assert ledger.spent("scans")["epsilon"] == Fraction(9, 10)


def test_a_release_is_charged_under_its_own_neighbours_and_unit(ledger):
    ledger.create("scans", PureDP(1), unit="person")
    mean = estimator(ledger, 0.2).set_params(unit="person", unit__neighbours="add-remove")
    mean.fit(CURVES, groups=np.repeat(np.arange(20), 2))
    assert ledger.spent("scans")["epsilon"] == Fraction(4, 10)


def test_pure_noise_chosen_for_an_approximate_guarantee_costs_no_delta():
    ledger = MemoryLedger().create("d", ZeroConcentratedDP(1)).create("e", guarantee_for(1, 1e-6))
    curves = np.zeros((300, 12))
    for dataset in ("d", "e"):
        mean = PrivateMean(1, 1e-6, bounds=L1Ball(2.0), ledger=ledger.of(dataset)).fit(curves)
        assert isinstance(mean.release_.certificate.achieved, PureDP)
    # Matched Laplace noise: epsilon + exp(-epsilon) - 1.
    assert float(ledger.spent("d")["rho"]) == pytest.approx(math.exp(-1), rel=1e-9)
    assert ledger.spent("e")["delta"] == 0
