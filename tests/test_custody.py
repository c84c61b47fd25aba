"""Masked parts of several custodians: what opens their total, what is refused, what never repeats."""

import copy
import errno
import inspect
import json
import pickle
import re
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.errors import CustodyError, DpfdaError, ParameterError, StorageError
from dpfda.numerics.aggregate import IntegerSum

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dpfda.publication.custody import (
    Agreement,
    Card,
    Keys,
    Part,
    agreements,
    joined,
    keys,
    masked,
    parts,
)
from dpfda.publication.custody.agreements import ROOM_BITS, modulus_bits

LARGEST = 2**60


def people(count=3, numbers=4, largest=LARGEST):
    """Keys of some custodians and a coordinator, and their signed agreement."""
    own = [Keys.make(f"clinic-{number}", units=10 + number) for number in range(count)]
    lead = Keys.make("registry")
    cards = [each.card for each in own]
    return own, lead, Agreement(cards, lead.card, {"name": "sum"}, "00", numbers, largest).signed(lead)


def sums(*rows, counts=None):
    counts = counts or [10 + number for number in range(len(rows))]
    return [IntegerSum(len(row)).add_totals(row, count) for row, count in zip(rows, counts, strict=True)]


def exact(total, numbers):
    return list(total.with_noise([0] * numbers)), total.count_with_noise(0, 1)


def all_parts(own, agreement, rows):
    return [masked(agreement, each, total) for each, total in zip(own, sums(*rows), strict=True)]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.integers(-(2**58), 2**58), min_size=4, max_size=4), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
)
def test_the_total_is_exact_in_any_order_and_a_part_twice_counts_once(rows, order):
    own, lead, agreement = people(len(rows))
    made = all_parts(own, agreement, rows)
    made = [*made, Part(copy.deepcopy(dict(made[0].written)))]
    order.shuffle(made)
    expected = [sum(column) for column in zip(*rows, strict=True)]
    assert exact(joined(agreement, lead, made), 4) == (expected, sum(range(10, 10 + len(rows))))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2**200), st.sampled_from([-1, 1]))
def test_no_total_can_wrap(largest, sign):
    bits = modulus_bits(largest)
    assert 2 ** (bits - 1) > largest * 2**ROOM_BITS
    assert bits % 64 == 0
    total = IntegerSum.modulo([sign * largest % 2**bits], 1, 2**bits)
    assert total.with_noise([0]) == (sign * largest,)
    # Noise of the size of all records together leaves it where it is, too.
    assert total.with_noise([sign * largest]) == (2 * sign * largest,)


@pytest.mark.parametrize("total", [2**191 - 1, 2**191, -(2**191), 2**192 - 1, 2**127, 2**127 - 1, -5])
def test_what_is_released_follows_from_total_plus_noise_wherever_a_total_lies(total):
    """A liar may put the total at the edge; it still shows nothing that the noisy numbers do not."""

    def outcome(exact, noise):
        made = IntegerSum.modulo([exact % 2**192], 5, 2**192)
        try:
            return made.with_noise([noise])
        except CustodyError:
            return "refused"

    for noise in (0, 1, -1, 123):
        assert (
            outcome(total + 1, noise) == outcome(total, noise + 1) == outcome(total + 2**192, noise + 1)
        )
    assert (outcome(total, 0) == "refused") is (abs(total) > 2**127 and total != 2**192 - 1)


def test_a_total_modulo_goes_through_a_matrix_and_is_not_thresholded():
    modulus, matrix = 2**192, np.array([[3, -2], [2**40, 1]])
    total = IntegerSum.modulo([-7 % modulus, 2**50], 5, modulus).through(matrix)
    assert total.with_noise([0, 0]) == (-21 - 2**51, -7 * 2**40 + 2**50)
    with pytest.raises(DpfdaError, match="cannot be thresholded"):
        total.with_noise([0, 0], [1, 1])


def opened(agreement, lead, part):
    """The masked numbers of one part, as its coordinator can read them."""
    key = lead.shared(agreement.card(part.custodian), agreement.digest, "envelope")
    sealed, about = bytes.fromhex(part.written["sealed"]), agreement.digest + part.custodian.encode()
    content, size = ChaCha20Poly1305(key).decrypt(bytes(12), sealed, about), agreement.bits // 8
    return [int.from_bytes(content[k : k + size], "little") for k in range(0, len(content), size)]


def test_a_part_is_uniform_whatever_the_records_and_two_are_of_fewer_than_all():
    """Bits of what the coordinator opens, and of sums that lack one part: half of them are set."""
    numbers = 300
    own, lead, agreement = people(3, numbers)
    made = all_parts(own, agreement, [[5] * numbers] * 3)
    one, other = (np.array(opened(agreement, lead, part), dtype=object) for part in made[:2])
    for seen in (one, (one + other) % agreement.modulus):
        bits = sum(int(value).bit_count() for value in seen)
        trials = agreement.bits * (numbers + 1)
        # Six standard deviations: fails once in 5e8 runs; numbers below 2^100 would be 60 away.
        assert abs(bits - trials / 2) < 3 * trials**0.5
        assert len({int(value) for value in seen}) == numbers + 1


def test_masks_hold_for_one_agreement_and_one_direction():
    own, lead, agreement = people(2)
    first, second = own
    again = Agreement(agreement.custodians, lead.card, agreement.summary, "00", 4, LARGEST).signed(lead)
    assert again.session != agreement.session
    secrets = {
        one.shared(other.card, deal.digest, purpose)
        for deal in (agreement, again)
        for purpose in ("mask", "confirmation", "envelope")
        for one, other in ((first, second), (second, first))
    }
    assert len(secrets) == 6


def test_keys_are_used_once_and_wiped(tmp_path):
    own, lead, _ = people(2)
    path = own[0].save(tmp_path / "own.keys")
    secret = json.loads(path.read_text())["secret"]["exchange"]
    assert path.stat().st_mode & 0o777 == 0o600
    agreement = Agreement([each.card for each in own], lead.card, {}, "", 1, LARGEST).signed(lead)
    masked(agreement, Keys.load(path), IntegerSum.of([1]))
    assert secret not in path.read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["own.keys"]
    with pytest.raises(CustodyError, match=r"were used\. Keys hold for one release"):
        Keys.load(path)
    spent = own[1]
    spent.use_up("a test")
    for use in (lambda: masked(agreement, spent, IntegerSum.of([1])), lambda: spent.use_up("again")):
        with pytest.raises(CustodyError, match="were used"):
            use()


def test_keys_that_others_may_read_are_refused(tmp_path):
    path = Keys.make("clinic").save(tmp_path / "own.keys")
    path.chmod(0o640)
    with pytest.raises(StorageError, match=r"readable by its owner alone \(mode 600\).*has mode 640"):
        Keys.load(path)
    path.chmod(0o600)
    Keys.load(path).use_up("a test")


def test_keys_that_cannot_be_overwritten_are_not_said_to_be_gone(tmp_path, monkeypatch):
    path = Keys.make("clinic").save(tmp_path / "own.keys")
    keys = Keys.load(path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CustodyError, match=r"could not be overwritten \(No space left on device\)"):
        keys.use_up("a test")
    with pytest.raises(CustodyError, match="were used"):
        keys.use_up("again")


def test_a_link_and_another_folder_lead_to_the_same_keys(tmp_path, monkeypatch):
    path, link = Keys.make("clinic").save(tmp_path / "own.keys"), tmp_path / "link.keys"
    link.symlink_to(path)
    monkeypatch.chdir(tmp_path)
    linked, relative = Keys.load(link), Keys.load("own.keys")
    monkeypatch.chdir(tmp_path.parent)
    # Another process is at it: it made this claim.
    claim = tmp_path / "own.keys.claim"
    claim.touch()
    with pytest.raises(CustodyError, match="Nothing was made"):
        linked.use_up("a test")
    claim.unlink()
    relative.use_up("a test")
    assert link.is_symlink()
    with pytest.raises(CustodyError, match="were used"):
        Keys.load(link)


@pytest.mark.parametrize("in_memory", [False, True])
def test_of_many_who_use_the_same_keys_at_once_one_succeeds(tmp_path, in_memory):
    made = Keys.make("clinic")
    path = made.save(tmp_path / "own.keys")
    copies = [Keys.load(path) for _ in range(8)]
    if in_memory:
        copies = [Keys.make("clinic")] * 8

    def used(each):
        try:
            each.use_up("a test")
        except CustodyError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(used, copies)) == 1


def test_keys_and_cards_are_files(tmp_path):
    made = Keys.make("north", 12)
    assert Keys.load(made.save(tmp_path / "k")).card == made.card
    assert Card.load(made.save_card(tmp_path / "c")) == made.card
    with pytest.raises(StorageError, match="could not be written"):
        made.save(tmp_path / "k")
    with pytest.raises(StorageError, match="must be of the format 'dpfda-custodian-card'"):
        Card.load(tmp_path / "k")
    written = json.loads((tmp_path / "c").read_text())
    written["card"]["units"] = 13
    (tmp_path / "c").write_text(json.dumps(written))
    with pytest.raises(CustodyError, match="must be as it was signed"):
        Card.load(tmp_path / "c")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("summary", {"bounds": [0, 10**9]}),
        ("session", "00"),
        ("rule", "11"),
        ("bits", 4096),
        ("numbers", 5),
        ("largest", "7"),
        ("custodians", []),
        ("signature", "00" * 64),
        ("signature", None),
    ],
)
def test_an_agreement_that_was_changed_is_refused(tmp_path, name, value):
    _, _, agreement = people()
    path = agreement.save(tmp_path / "agreed.json")
    assert Agreement.load(path).digest == agreement.digest
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(CustodyError, match="must be as it was signed"):
        Agreement.load(path)


def test_an_agreement_whose_total_could_wrap_is_refused_though_it_is_signed(tmp_path):
    _, lead, agreement = people()
    assert agreement.bits == 192
    content = {**agreement.content, "bits": 128}
    (tmp_path / "agreed.json").write_text(json.dumps(lead.sign(content)))
    with pytest.raises(CustodyError, match=r"modulo 2\^192, so that no total can wrap; found 2\^128"):
        Agreement.load(tmp_path / "agreed.json")


def test_custodians_have_names_and_keys_of_their_own():
    own, lead, agreement = people(2)
    for cards in ([own[0].card] * 2, [own[0].card, replace(own[1].card, name="clinic-0")]):
        with pytest.raises(ParameterError, match="have different names and keys"):
            replace(agreement, custodians=cards)
    with pytest.raises(ParameterError, match="have different names and keys"):
        replace(agreement, custodians=[own[0].card, lead.card])
    with pytest.raises(ParameterError, match="must be at least two; found 1"):
        replace(agreement, custodians=[own[0].card])
    with pytest.raises(ParameterError, match="letters, digits, points and dashes"):
        Keys.make("north wing")


def test_keys_of_a_stranger_in_the_agreement_are_seen_by_whose_place_they_took():
    own, lead, agreement = people(2)
    stranger = Keys.make("clinic-0", 10)
    forged = replace(agreement, custodians=[stranger.card, own[1].card]).signed(lead)
    with pytest.raises(CustodyError, match="Somebody may have put keys of their own in their place"):
        masked(forged, own[0], IntegerSum(4))
    with pytest.raises(CustodyError, match="found no 'elsewhere' in it"):
        masked(agreement, Keys.make("elsewhere"), IntegerSum(4))


@pytest.mark.parametrize(
    ("bits", "written"),
    [
        # Appendix B of RFC 8785.
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_by_rfc_8785(bits, written):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert keys.canonical({"x": [value]}) == f'{{"x":[{written}]}}'.encode()


def test_texts_and_names_are_written_as_by_rfc_8785():
    # Sections 3.2.2 and 3.2.3.
    text = "\u20ac$\u000f\nA'\x42\x22\\\x5c\"/"
    assert keys.canonical({"s": text}) == '{"s":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'.encode()
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\u00f6"]
    found = json.loads(keys.canonical(dict.fromkeys(names)))
    assert list(found) == ["\r", "1", "\x80", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert (
        keys.canonical({"b": True, "a": [None, 56, {"d": 0.5}]}) == b'{"a":[null,56,{"d":0.5}],"b":true}'
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        keys.canonical({"x": float("nan")})
    assert keys.canonical({"x": [-(2**53), 2**53 + 1]}) == b'{"x":[-9007199254740992,9007199254740993]}'


def test_a_card_of_many_levels_is_refused(tmp_path):
    card, inner = Keys.make("north", 3).card, []
    for _ in range(600):
        inner = [inner]
    path = tmp_path / "deep.card"
    written = {
        "format": Card.FORMAT,
        "version": 1,
        "card": card.to_json(),
        "x": inner,
        "signature": "00",
    }
    path.write_text(json.dumps(written))
    with pytest.raises(CustodyError, match="must be as it was signed"):
        Card.load(path)


def test_custodians_whose_names_are_exchanged_make_no_part():
    own, lead, agreement = people(3)
    first, second, third = (keys.card for keys in own)
    cards = [replace(first, name=second.name), replace(second, name=first.name), third]
    swapped = replace(agreement, custodians=cards).signed(lead)
    assert swapped.fingerprint != agreement.fingerprint
    for each in own[:2]:
        with pytest.raises(CustodyError, match="Somebody may have put keys of their own in their place"):
            masked(swapped, each, IntegerSum(4))
        each.check_unused()


# All points of order 1, 2, 4 and 8 on the curve and its twist, also as numbers above the prime.
SMALL = [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18] + [
    int.from_bytes(bytes.fromhex(point), "little")
    for point in (
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    )
]


@pytest.mark.parametrize("point", SMALL)
@pytest.mark.parametrize("whose", ["custodian", "coordinator"])
def test_no_point_of_small_order_shares_a_secret(point, whose):
    own, lead, agreement = people(2)
    odd = point.to_bytes(32, "little")
    if whose == "custodian":
        cards = [own[0].card, replace(own[1].card, exchange=odd)]
        forged = replace(agreement, custodians=cards).signed(lead)
    else:
        forged = replace(agreement, coordinator=replace(lead.card, exchange=odd)).signed(lead)
    with pytest.raises(CustodyError, match=r"The public key of .* cannot be used"):
        masked(forged, own[0], IntegerSum(4))
    own[0].check_unused()


def test_what_does_not_fit_together_is_refused(tmp_path):
    own, lead, agreement = people(4)
    again = replace(agreement, summary={"bounds": [0, 2]}).signed(lead)
    # The same keys twice is what the file prevents; here it stands for a custodian who cheats.
    twice = copies_of(own[0], tmp_path, 3)
    made = all_parts(own, agreement, [[1] * 4] * 4)
    other = masked(agreement, twice[1], IntegerSum(4))
    elsewhere = masked(again, twice[2], IntegerSum(4))
    forged = Part({**other.written, "custodian": "clinic-1"})
    with pytest.raises(CustodyError, match="two different ones of clinic-0"):
        joined(agreement, lead, [*made, other])
    with pytest.raises(CustodyError, match=r"missing: clinic-1, clinic-3\. Their masks would"):
        joined(agreement, lead, [made[0], made[2]])
    with pytest.raises(CustodyError, match="The part of clinic-0 must be made under this agreement"):
        joined(agreement, lead, [elsewhere, *made[1:]])
    with pytest.raises(CustodyError, match="The part of clinic-1 must be as it was signed"):
        joined(agreement, lead, [made[0], forged, *made[2:]])
    with pytest.raises(CustodyError, match="keys must be those of the coordinator"):
        joined(agreement, twice[0], made)
    written = {name: value for name, value in made[0].written.items() if name != "signature"}
    for changed, words in (
        ({"confirmed": {**written["confirmed"], "clinic-2": "00"}}, "clinic-0 and clinic-2 must share"),
        ({"confirmed": {}}, "clinic-0 must be masked for every other"),
        ({"sealed": "00" * 40}, "clinic-0 cannot be opened"),
        ({"sealed": None}, "clinic-0 cannot be opened"),
    ):
        spoilt = Part(twice[0].sign({**written, **changed}))
        with pytest.raises(CustodyError, match=words):
            joined(agreement, lead, [spoilt, *made[1:]])
    assert exact(joined(agreement, lead, made), 4) == ([4] * 4, 46)


def copies_of(own, folder, count):
    """Keys before they are used, as copies of their file hold them."""
    kept = own.save(folder / own.card.name)
    return [Keys.load(shutil.copy(kept, folder / f"copy {number}")) for number in range(count)]


def test_nothing_secret_shows_pickles_or_draws():
    own, _, agreement = people(2)
    part = masked(agreement, own[1], IntegerSum.of([271828] * 4))
    assert repr(own[0]) == "Keys('clinic-0', content secret)"
    assert repr(part) == "Part('clinic-1', content sealed)"
    with pytest.raises(CustodyError, match="cannot be pickled"):
        pickle.dumps(own[0])
    for module in (agreements, keys, parts):
        # Masks come from keys of the system's entropy; no generator that somebody could seed.
        assert not re.search(r"import random|numpy|Generator|seed\(", inspect.getsource(module))
