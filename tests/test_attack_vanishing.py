"""Attacks on custodians who vanish: stolen files, hostile files, and coalitions by another road."""

import json
import threading
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateMean
from dpfda.errors import CustodyError, StorageError
from dpfda.front.app import app
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger

pytest.importorskip("cryptography")

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dpfda.front.custodians import agree, answer, merge, part, roll, words
from dpfda.publication.custody import Agreement, Kept, Keys, Part

NAMES, UNITS, POINTS = ("a", "b", "c", "d", "e"), 3, 4


def started(folder, threshold=4, **rules):
    own = {name: Keys.make(name, UNITS) for name in NAMES}
    for name, keys in own.items():
        keys.save(folder / f"{name}.keys")
    lead = Keys.make("registry")
    cards = [keys.card for keys in own.values()]
    mean = PrivateMean(1.0, bounds=(0, 1))
    return own, lead, agree(mean, cards, lead, POINTS, threshold=threshold, **rules)


def made_by(agreement, keys):
    return part(agreement, keys, np.zeros((UNITS, POINTS)))


def test_who_steals_a_file_of_keys_after_the_part_opens_none_of_the_shares_in_that_part(tmp_path):
    """Else all shares that it dealt, in the part or the public roll, give all masks of its part."""
    own, _, agreement = started(tmp_path)
    parts = {name: made_by(agreement, keys) for name, keys in own.items()}
    kept = json.loads((tmp_path / "a.keys").read_text())["kept"]
    keys = [bytes.fromhex(key) for key in (*kept["others"].values(), kept["coordinator"])]
    for name, sealed in parts["a"].written["shares"].items():
        for key in keys:
            with pytest.raises(InvalidTag):
                unsealed(key, sealed, agreement, "a", name)
    # What others dealt to it opens: the test uses keys as the answer does.
    key = bytes.fromhex(kept["others"]["b"])
    assert len(unsealed(key, parts["b"].written["shares"]["a"], agreement, "b", "a")) == 5 * 66


def unsealed(key, sealed, agreement, dealer, name):
    data, about = bytes.fromhex(sealed), agreement.digest + f"{dealer} to {name}".encode()
    return ChaCha20Poly1305(key).decrypt(data[:12], data[12:], about)


@pytest.mark.parametrize("odd", ["[]", "null", "1", '"x"', "[[1]]"])
def test_a_file_that_is_no_object_is_refused_by_merge_without_a_trace(tmp_path, monkeypatch, odd):
    own, lead, agreement = started(tmp_path)
    monkeypatch.chdir(tmp_path)
    lead.save("lead.keys")
    agreement.save("agreed.json")
    made_by(agreement, own["a"]).save("a.part")
    (tmp_path / "odd").write_text(odd)
    files = ["a.part", "odd", "--agreement", "agreed.json", "--keys", "lead.keys", "--out", "f.json"]
    told = CliRunner().invoke(app, ["merge", *files])
    assert told.exit_code == 2
    assert "'odd' must be of the format 'dpfda-custodian-part'" in " ".join(told.stderr.split())


def test_a_long_name_in_a_part_is_not_repeated_in_full(tmp_path):
    own, lead, agreement = started(tmp_path)
    written = {**made_by(agreement, own["a"]).written, "custodian": "a" * 100_000}
    with pytest.raises(CustodyError, match="must name the custodian") as told:
        roll(agreement, [Part(written)], lead)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("bits", [320, 2**33, 2**70])
def test_a_modulus_wider_than_needed_is_refused_before_anything_is_made(tmp_path, bits):
    _, lead, agreement = started(tmp_path)
    (tmp_path / "wide").write_text(json.dumps(lead.sign({**agreement.content, "bits": bits})))
    with pytest.raises(CustodyError, match=r"must add up modulo 2\^256, so that no total can wrap"):
        Agreement.load(tmp_path / "wide")


def test_signed_agreements_with_odd_summaries_are_refused_with_typed_errors(tmp_path):
    _, lead, agreement = started(tmp_path)
    content = agreement.content
    (tmp_path / "odd").write_text(json.dumps(lead.sign({**content, "summary": "abc"})))
    with pytest.raises(StorageError, match="is damaged"):
        Agreement.load(tmp_path / "odd")
    basis = {"basis": {**content["summary"]["parameters"]["basis"]["basis"], "eigenvalues": [10**400]}}
    parameters = {**content["summary"]["parameters"], "basis": basis}
    summary = {**content["summary"], "parameters": parameters}
    (tmp_path / "odd").write_text(json.dumps(lead.sign({**content, "summary": summary})))
    with pytest.raises(CustodyError, match="parameters cannot be read"):
        words(Agreement.load(tmp_path / "odd"))


def test_keys_with_the_claim_of_a_killed_process_charge_nothing_and_say_what_to_do(tmp_path):
    names = ("a", "b", "c")
    own = {name: Keys.make(name, UNITS) for name in names}
    own["a"].save(tmp_path / "a.keys")
    lead, mean = Keys.make("registry"), PrivateMean(rho=0.5, bounds=(0, 1), mechanism="gaussian")
    cards = [keys.card for keys in own.values()]
    agreement = agree(mean, cards, lead, POINTS, noise="shared", threshold=2)
    ledger = MemoryLedger().create("a", ZeroConcentratedDP(10), unit="record")
    paying, claim = ledger.of("a"), tmp_path / "a.keys.claim"
    claim.touch()
    with pytest.raises(CustodyError, match=r"killed while it did.*delete '.*a\.keys\.claim' and try"):
        part(agreement, Keys.load(tmp_path / "a.keys"), np.zeros((UNITS, POINTS)), ledger=paying)
    assert ledger.spent("a").values == (0,)
    claim.unlink()
    part(agreement, Keys.load(tmp_path / "a.keys"), np.zeros((UNITS, POINTS)), ledger=paying)
    # Keys that were loaded before another process used them, as these in memory, charge nothing either.
    with pytest.raises(CustodyError, match="are gone: they were used meanwhile"):
        part(agreement, own["a"], np.zeros((UNITS, POINTS)), ledger=paying)
    assert ledger.spent("a").values == (Fraction(1, 2),)


def test_threads_with_keys_in_memory_answer_one_roll():
    own, lead = {name: Keys.make(name, UNITS) for name in NAMES}, Keys.make("registry")
    cards = [keys.card for keys in own.values()]
    agreement = agree(PrivateMean(1.0, bounds=(0, 1)), cards, lead, POINTS, threshold=3)
    parts = [made_by(agreement, keys) for keys in own.values()]
    rolls = [roll(agreement, parts[:4], lead), roll(agreement, parts[1:], lead)]
    # Where one has looked which roll is answered, and not yet noted its own, it waits for the other.
    looked, waiting, answered = [], threading.Barrier(2), []

    class Slow(dict):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            if key == "roll":
                looked.append(key)
                with suppress(threading.BrokenBarrierError):
                    waiting.wait(1)
            return found

    own["a"].kept = Slow(own["a"].kept)
    kept = [Kept.of(own["a"]) for _ in rolls]

    def respond(held, called):
        with suppress(CustodyError):
            answered.append(held.answer(agreement, called))

    threads = [threading.Thread(target=respond, args=each) for each in zip(kept, rolls, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looked) == 2
    assert len(answered) == 1


def test_a_coordinator_whose_keys_were_used_calls_no_second_roll_and_charges_nothing(tmp_path):
    own, lead, agreement = started(tmp_path, threshold=3)
    stale = Keys.load(lead.save(tmp_path / "lead.keys"))
    parts = [made_by(agreement, keys) for keys in own.values()]
    called = roll(agreement, parts[:4], lead)
    answers = [answer(agreement, own[name], called) for name in "abe"]
    ledger = MemoryLedger().create("all", PureDP(10), unit="record")
    merge(agreement, parts[:4], lead, ledger.of("all"), answers)
    for keys in (lead, stale):
        with pytest.raises(CustodyError, match="were used"):
            merge(agreement, parts[:4], keys, ledger.of("all"), answers)
        with pytest.raises(CustodyError, match="were used"):
            roll(agreement, parts, keys)
    assert ledger.spent("all").values == (1,)


def test_what_an_answer_is_made_of_goes_when_it_is_given_and_the_same_answer_stays(tmp_path):
    own, lead, agreement = started(tmp_path)
    parts = [made_by(agreement, keys) for keys in own.values()]
    file = tmp_path / "a.keys"
    before = json.loads(file.read_text())["kept"]
    secrets = [before["own"], before["coordinator"], before["signing"], *before["others"].values()]
    called = roll(agreement, parts, lead)
    given = Kept.load(file).answer(agreement, called)
    left = file.read_text()
    assert not any(secret in left for secret in secrets)
    assert Kept.load(file).answer(agreement, called).written == given.written
    with pytest.raises(CustodyError, match="must answer one roll"):
        Kept.load(file).answer(agreement, roll(agreement, parts[:4], lead))


def test_a_damaged_file_of_used_keys_is_refused(tmp_path):
    own, _, agreement = started(tmp_path)
    made_by(agreement, own["a"])
    file = tmp_path / "a.keys"
    written = json.loads(file.read_text())
    for field in ("agreement", "coordinator", "own", "others", "roll", "signing"):
        kept = {name: value for name, value in written["kept"].items() if name != field}
        file.write_text(json.dumps({**written, "kept": kept}))
        with pytest.raises(StorageError, match="is damaged"):
            Kept.load(file)
