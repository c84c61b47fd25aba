"""Custodians who vanish: what opens, what never does, and processes that are killed at every step."""

import json
import os
import re
import shutil
import signal
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner

from dpfda import PrivateComparison, PrivateCovariance, PrivateDensity, PrivateMean, load
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import CustodyError, ParameterError, StorageError
from dpfda.front.app import app
from dpfda.numerics.aggregate import IntegerSum
from dpfda.testing import exact_totals

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dpfda.front.custodians import agree, answer, merge, part, pooled, roll, statements, words
from dpfda.publication.custody import (
    Agreement,
    Answer,
    Kept,
    Keys,
    Part,
    Roll,
    joined,
    masked,
    vanishing,
)
from dpfda.publication.custody.agreements import fewest
from dpfda.publication.custody.parts import masks_of
from dpfda.publication.custody.vanishing import PRIME, recovered, split

POINTS, UNITS = 12, 10
NAMES = ("a", "b", "c", "d", "e")
RECORDS = np.random.default_rng(5).normal(size=(UNITS * len(NAMES), POINTS))


def started(estimator, threshold=4, names=NAMES, **rules):
    private = estimator.settings.unit.neighbours == "add-remove"
    own = {name: Keys.make(name, None if private else UNITS) for name in names}
    lead = Keys.make("registry")
    cards = [keys.card for keys in own.values()]
    return own, lead, agree(estimator, cards, lead, POINTS, threshold=threshold, **rules)


def shares_of(records, count):
    return np.split(records, count)


def exact(total):
    return exact_totals(total), total.count_with_noise(0, 1)


@pytest.mark.parametrize(("threshold", "count"), [(1, 3), (2, 3), (4, 6), (7, 7)])
def test_as_many_shares_as_the_threshold_give_the_secret_and_one_less_gives_every_secret(
    threshold, count
):
    secret = bytes(range(32))
    shares = split(secret, threshold, count)
    for chosen in combinations(range(count), threshold):
        assert recovered({number: shares[number] for number in chosen}) == secret
    # With any other secret at zero fewer shares lie on a polynomial of the same degree.
    others = {number: shares[number] for number in range(threshold - 1)}
    for value in (0, 1, 2**255 + 3):
        weights = through(others, threshold - 1)
        last = sum(weights[number] * int.from_bytes(share, "big") for number, share in others.items())
        last = (last + weights[None] * value) % PRIME
        made = others | {threshold - 1: last.to_bytes(66, "big")}
        assert recovered(made) == value.to_bytes(32, "big")


def through(others, new):
    """Weights of a polynomial's values at 0 and some places in that at a new one, modulo PRIME."""
    places = {None: 0} | {number: number + 1 for number in others}
    weights = {}
    for key, place in places.items():
        weights[key] = 1
        for other, away in places.items():
            if other != key:
                weights[key] *= (new + 1 - away) * pow(place - away, -1, PRIME)
    return weights


def test_coefficients_are_uniform():
    """The last share but one of a threshold of two: all of its 521 bits are tossed."""
    seen = [int.from_bytes(split(bytes(32), 2, 2)[0], "big") for _ in range(200)]
    ones = sum(value.bit_count() for value in seen)
    # Six standard deviations: fails once in 5e8 runs; 256 bits would be 150 away.
    assert abs(ones - 200 * 521 / 2) < 3 * (200 * 521) ** 0.5


@pytest.mark.parametrize(("honest", "answers"), [(2, 2), (3, 2), (3, 3), (4, 3), (5, 3), (5, 4), (6, 4)])
def test_no_sum_of_fewer_honest_custodians_opens_whatever_rolls_a_coordinator_makes(honest, answers):
    """All ways to hand rolls to the honest: who is opened, and whether that sum is without masks."""
    rolls = [
        set(names) for size in range(answers, honest + 1) for names in combinations(range(honest), size)
    ]
    smallest = honest
    for handed in combinations_with_replacement(rolls, honest):
        times = Counter(name for names in handed for name in names)
        opened = {name for name in times if times[name] >= answers}
        clean = all(
            sum(own in names and other not in names for names in handed) >= answers
            for own in opened
            for other in set(range(honest)) - opened
        )
        if opened and clean:
            smallest = min(smallest, len(opened))
    assert smallest >= fewest(honest, answers) >= 1
    # Every custodian on one roll opens as many as answer: no more can be promised.
    assert smallest <= answers


def test_of_half_the_honest_nothing_is_promised():
    assert fewest(4, 2) == fewest(5, 2) == 0
    assert [fewest(honest, honest) for honest in range(1, 9)] == [*range(1, 9)]
    assert fewest(10, 9) == 9
    assert fewest(10, 6) == 4


KINDS = {
    "values": PrivateMean(1.0, bounds=(-1.0, 1.5)),
    "length": PrivateMean(1.0, bounds=L2Ball(0.6)),
    "l1": PrivateMean(1.0, bounds=L1Ball(1.1)),
    "kernel": PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace", basis="matern:10%:1.5"),
    "private number": PrivateMean(1.0, bounds=(-1, 1), neighbours="add-remove"),
    "covariance": PrivateCovariance(1.0, bounds=(-1, 1), center=0.2),
    "comparison": PrivateComparison(1.0, bounds=(-1, 1), levels=("x", "y")),
}


@pytest.mark.parametrize("absent", [(), ("a",), ("c",), ("e",)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_total_is_that_of_those_on_the_roll_integer_for_integer(kind, absent):
    estimator = KINDS[kind]
    own, lead, agreement = started(estimator)
    blocks = dict(zip(NAMES, shares_of(RECORDS, 5), strict=True))
    labels = np.array(["x", "y"] * (UNITS // 2)) if kind == "comparison" else None
    parts = [part(agreement, own[name], block, y=labels) for name, block in blocks.items()]
    present = [made for made in parts if made.custodian not in absent]
    called = roll(agreement, present, lead)
    # Who is out may answer, and one of the others need not.
    answers = [answer(agreement, own[name], called) for name in NAMES if name != "b"]
    made = pooled(estimator, 50, POINTS)
    everyone = [made.total(blocks[part.custodian], None, labels) for part in present]
    expected = everyone[0]
    for one in everyone[1:]:
        expected.merge(one)
    total = joined(agreement, lead, present, answers)
    count = len(exact_totals(expected))
    assert total.with_noise([0] * count) == tuple(exact_totals(expected))
    assert total.count_with_noise(0, 1) == UNITS * len(present)
    release = merge(agreement, present, lead, answers=[*answers, answers[0]])
    if kind not in ("private number", "comparison"):
        assert release.count == UNITS * len(present)


def test_a_density_opens_without_who_vanished():
    estimator = PrivateDensity(5.0, domain=[(0, 1)])
    own, lead, _ = started(PrivateMean(1.0, bounds=(0, 1)))
    agreement = agree(estimator, [keys.card for keys in own.values()], lead, threshold=3)
    parts = [part(agreement, keys, np.full((UNITS, 1), 0.3)) for keys in list(own.values())[:3]]
    called = roll(agreement, parts, lead)
    answers = [answer(agreement, own[name], called) for name in NAMES[:3]]
    counts, units = exact(joined(agreement, lead, parts, answers))
    # All in one cell, in fractions of 2^-20.
    assert (sum(counts), max(counts), units) == (30 << 20, 30 << 20, 30)
    # Three tenths of the way is where all of the released mass lies, but for noise of 30 with epsilon 5.
    assert merge(agreement, parts, lead, answers=answers)(np.array([[0.3]]))[0] > 2


def opened(agreement, lead, made):
    """The masked numbers of one part, as its coordinator can read them."""
    key = lead.shared(agreement.card(made.custodian), agreement.digest, "envelope")
    sealed, about = bytes.fromhex(made.written["sealed"]), agreement.digest + made.custodian.encode()
    content, size = ChaCha20Poly1305(key).decrypt(bytes(12), sealed, about), agreement.bits // 8
    return [int.from_bytes(content[k : k + size], "little") for k in range(0, len(content), size)]


def everything(agreement, lead, parts, rolls, answers):
    """What a coordinator can take off a part that it holds, and was told is not on the roll."""
    hashes = {made.custodian: made.written["secrets"] for made in parts}
    seeds = {}
    for called, said in zip(rolls, answers, strict=True):
        seeds |= vanishing.opened_seeds(agreement, lead, called, said, hashes)
    return seeds


def test_a_part_that_is_held_back_stays_uniform_and_so_does_every_one_on_the_roll():
    """The coordinator calls the roll without a part that it has, and takes off all that is opened."""
    numbers = 200
    own, lead = {name: Keys.make(name, 1) for name in NAMES}, Keys.make("registry")
    cards = [keys.card for keys in own.values()]
    agreement = Agreement(cards, lead.card, {}, "", numbers, 2**60, threshold=4).signed(lead)
    parts = [masked(agreement, keys, IntegerSum.of([7] * numbers)) for keys in own.values()]
    called = Roll.call(agreement, lead, {made.custodian: made.written["shares"] for made in parts[:4]})
    answers = [Kept.of(keys).answer(agreement, called) for keys in own.values()]
    seeds = everything(agreement, lead, parts, [called], [answers])
    assert {key for key in seeds if key[0] == key[1]} == {(name, name) for name in NAMES[:4]}
    assert {key for key in seeds if key[0] != key[1]} == {(name, "e") for name in NAMES[:4]}

    def left(held, extra):
        masks = np.array(masks_of(agreement, extra), dtype=object)
        return [(int(a) - int(b)) % agreement.modulus for a, b in zip(held, masks, strict=True)]

    held = {made.custodian: opened(agreement, lead, made) for made in parts}
    # e: the masks with the others can be turned round; a: its own and that with e are known.
    turned = {("e", name): seeds[name, "e"] for name in NAMES[:4]}
    known = {key: seed for key, seed in seeds.items() if key[0] == "a"}
    for name, extra in (("e", turned), ("a", known)):
        bits = sum(value.bit_count() for value in left(held[name], extra))
        trials = agreement.bits * (numbers + 1)
        # Six standard deviations: fails once in 5e8 runs; a number below 2^100 each would be 60 away.
        assert abs(bits - trials / 2) < 3 * trials**0.5
    # The test sees what is not masked: with e's own mask, which no answer opens, e's sum is there.
    assert joined(agreement, lead, parts[:4], answers).with_noise([0] * numbers) == (28,) * numbers


def test_one_roll_is_answered_again_and_no_other(tmp_path):
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)))
    files = {name: keys.save(tmp_path / f"{name}.keys") for name, keys in own.items()}
    parts = [part(agreement, Keys.load(files[name]), np.zeros((UNITS, POINTS))) for name in NAMES]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files.values())
    first, second = roll(agreement, parts[:4], lead), roll(agreement, parts[1:], lead)
    assert roll(agreement, parts[3::-1], lead).digest == first.digest != second.digest
    kept = Kept.load(files["a"])
    again = Kept.load(files["a"])
    for held in (kept, kept, again):
        assert held.answer(agreement, first).custodian == "a"
    for held in (kept, again, Kept.load(files["a"])):
        with pytest.raises(CustodyError, match="a must answer one roll; it answered another"):
            held.answer(agreement, second)
    assert files["a"].stat().st_mode & 0o777 == 0o600
    # Four of five must answer one roll: what the others say of the second is not enough.
    others = [Kept.load(files[name]).answer(agreement, second) for name in "bcd"]
    with pytest.raises(CustodyError, match=r"answers of at least 4 custodians must be there; found 3"):
        joined(agreement, lead, parts[1:], others)
    with pytest.raises(CustodyError, match=r"answer of a must be to the roll of b, c, d, e"):
        joined(agreement, lead, parts[1:], [*others, kept.answer(agreement, first)])
    claim = tmp_path / "e.keys.claim"
    claim.touch()
    with pytest.raises(CustodyError, match="Another process is answering"):
        Kept.load(files["e"]).answer(agreement, second)
    claim.unlink()
    last = Kept.load(files["e"]).answer(agreement, second)
    assert exact(joined(agreement, lead, parts[1:], [*others, last]))[1] == 40


def test_a_roll_that_is_not_as_it_should_be_is_not_answered():
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)))
    parts = [part(agreement, keys, np.zeros((UNITS, POINTS))) for keys in own.values()]
    true = roll(agreement, parts, lead)
    content = {name: value for name, value in true.written.items() if name != "signature"}
    with pytest.raises(CustodyError, match=r"parts of at least 4 custodians must be there; found 3"):
        roll(agreement, parts[:3], lead)
    changed = {
        "must name at least 4 custodians of the agreement, each once": [
            {"present": ["a", "b", "c"]},
            {"present": ["a", "a", "b", "c"]},
            {"present": ["a", "b", "c", "x"]},
            {"present": ["d", "c", "b", "a"]},
        ],
        "must be of this agreement; found another": [{"agreement": "00"}],
        "shares of b for a must be in the roll as they were sealed": [
            {"shares": {**content["shares"], "b": {**content["shares"]["b"], "a": sealed}}}
            for sealed in ("", "zz", None, content["shares"]["b"]["c"], content["shares"]["c"]["a"])
        ],
    }
    for message, cases in changed.items():
        for change in cases:
            with pytest.raises(CustodyError, match=message):
                answer(agreement, own["a"], Roll(lead.sign(content | change)))
    with pytest.raises(CustodyError, match="The roll must be as it was signed"):
        answer(agreement, own["a"], Roll(own["b"].sign(content)))
    # None of these bound it.
    assert answer(agreement, own["a"], true).custodian == "a"
    _, _, other = started(PrivateMean(1.0, bounds=(0, 1)))
    with pytest.raises(CustodyError, match="part of a was made under another agreement"):
        answer(other, own["a"], true)


def test_false_shares_are_named_and_other_answers_open_the_sum():
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)), threshold=3)
    parts = [part(agreement, keys, np.zeros((UNITS, POINTS))) for keys in own.values()]
    called = roll(agreement, parts[:4], lead)
    honest = [answer(agreement, own[name], called) for name in "abde"]
    false = Kept(own["c"].card, {**own["c"].kept, "own": "ab" * (66 * 5)}, None).answer(
        agreement, called
    )
    with pytest.raises(
        CustodyError, match=r"shares of c's secrets must give.*one of c, a, b opened others"
    ):
        joined(agreement, lead, parts[:4], [false, *honest])
    assert exact(joined(agreement, lead, parts[:4], honest))[1] == 40
    # A part whose shares are of other secrets than it is masked with.
    spoilt = {**parts[0].written, "secrets": {**parts[0].written["secrets"], "a": "00" * 32}}
    spoilt = Part(own["a"].sign({name: value for name, value in spoilt.items() if name != "signature"}))
    with pytest.raises(CustodyError, match=r"shares of a's secrets must give what its part states"):
        joined(agreement, lead, [spoilt, *parts[1:4]], honest)
    for field in ("shares", "secrets"):
        lacking = {name: value for name, value in parts[0].written.items() if name != "signature"}
        lacking[field] = {"b": "00"}
        with pytest.raises(CustodyError, match=f"part of a must hold its {field} for all"):
            roll(agreement, [Part(own["a"].sign(lacking)), *parts[1:]], lead)
    written = {name: value for name, value in honest[0].written.items() if name != "signature"}
    for sealed in ("", None, "00" * 300):
        with pytest.raises(CustodyError, match="answer of a cannot be opened"):
            joined(agreement, lead, parts[:4], [Answer(own["a"].sign({**written, "sealed": sealed}))])


def opened_noise(agreement, own, lead, points):
    """Of one release with all records zero: what its total holds, in scales of its law, and itself."""
    parts = [part(agreement, keys, np.zeros((UNITS, points))) for keys in own.values()][1:]
    called = roll(agreement, parts, lead)
    answers = [answer(agreement, own[name], called) for name in NAMES]
    total = joined(agreement, lead, parts, answers).with_noise([0] * agreement.numbers)
    made = pooled(SHARED, 50, points)
    zero = exact_totals(made.summation.prepared(made.total(np.zeros((40, points)))).total)
    release = merge(agreement, parts, lead, answers=answers)
    noise = np.array([int(a) - int(b) for a, b in zip(total, zero, strict=True)], dtype=float)
    return noise / np.array(release.noise.sizes), release


SHARED = PrivateMean(rho=0.5, bounds=(0, 1), mechanism="gaussian")


@pytest.mark.parametrize("colluding", [0, 1])
def test_noise_in_shares_has_the_guarantee_for_the_smallest_sum_that_opens(colluding):
    """The opened total is normal, at the scale of who is in it: four shares, of which few give rho."""
    points, honest, noise = 400, fewest(5 - colluding, 4 - colluding), []
    for _ in range(3):
        own, lead = {name: Keys.make(name, UNITS) for name in NAMES}, Keys.make("registry")
        cards = [keys.card for keys in own.values()]
        rules = {"noise": "shared", "colluding": colluding, "threshold": 4}
        agreement = agree(SHARED, cards, lead, points, **rules)
        found, release = opened_noise(agreement, own, lead, points)
        noise.append(found * (honest / 4) ** 0.5)
    assert agreement.honest == honest
    known = statements(agreement)
    for other, shares in ((0, fewest(5, 4)), (1, fewest(4, 3)), (2, fewest(3, 2))):
        assert float(known[other].rho) == pytest.approx(0.5 * honest / shares, rel=1e-5)
    assert max(known) == 2
    assert release.count == 40
    assert (release.noise.honest, release.noise.drawn) == (honest, 4)
    # Fails once in 1e6 runs; wrong by the root of two either way it is refused as surely.
    low, high = scipy.stats.chi2(np.size(noise)).ppf([5e-7, 1 - 5e-7])
    assert low < np.sum(np.square(noise)) < high
    assert 2 * low > high


def test_what_cannot_be_agreed_on_is_refused():
    mean = PrivateMean(1.0, bounds=(0, 1))
    for threshold in (2, 6, 2.5, "4", True):
        with pytest.raises(ParameterError, match="threshold must be a whole number from 3 to 5"):
            started(mean, threshold)
    with pytest.raises(ParameterError, match=r"from 4 to 5: more than half of 5 \+ 2 colluding"):
        started(mean, 3, colluding=2)
    with pytest.raises(ParameterError, match="colluding must be a whole number from 0 to 0 of 5"):
        started(mean, 5, colluding=1)
    own, lead, agreement = started(mean, 5)
    assert not agreement.may_vanish
    assert agreement.content["version"] == 1
    parts = [part(agreement, keys, np.zeros((UNITS, POINTS))) for keys in own.values()]
    with pytest.raises(CustodyError, match="must let custodians vanish"):
        roll(agreement, parts, lead)
    with pytest.raises(CustodyError, match="keys of a keep nothing to answer with"):
        Kept.of(own["a"])
    assert merge(agreement, parts, lead).count == 50


def test_an_agreement_with_a_threshold_is_a_file_that_earlier_programs_do_not_read(tmp_path):
    _, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)), colluding=1)
    path = agreement.save(tmp_path / "agreed.json")
    again = Agreement.load(path)
    assert (again.digest, again.threshold, again.honest) == (agreement.digest, 4, 3)
    assert json.loads(path.read_text())["version"] == 3
    assert "the sum opens if 4 of 5 answer the roll" in words(again)
    assert "with 1 colluding no sum of fewer than 3 others can be opened" in words(again)
    assert replace(agreement, threshold=5, colluding=0).digest != agreement.digest
    path.write_text(json.dumps({**json.loads(path.read_text()), "threshold": 3}))
    with pytest.raises(CustodyError, match="must be as it was signed"):
        Agreement.load(path)
    (tmp_path / "low.json").write_text(json.dumps(lead.sign({**agreement.content, "threshold": 2})))
    with pytest.raises(StorageError, match="is damaged: ParameterError while reading it"):
        Agreement.load(tmp_path / "low.json")


def test_nothing_secret_shows(tmp_path):
    own, lead, agreement = started(PrivateMean(1.0, bounds=(0, 1)))
    parts = [part(agreement, keys, np.zeros((UNITS, POINTS))) for keys in own.values()]
    kept, called = Kept.of(own["a"]), roll(agreement, parts, lead)
    held = own["a"].kept
    secrets = [*held["others"].values(), held["coordinator"], held["signing"]]
    said = kept.answer(agreement, called)
    assert repr(kept) == "Kept('a', content secret)"
    assert repr(said) == "Answer('a', content sealed)"
    assert repr(called).startswith("<dpfda")
    with pytest.raises(CustodyError, match="cannot be pickled"):
        kept.__reduce__()
    saved = Roll.load(called.save(tmp_path / "roll.json"))
    assert (saved.digest, saved.present) == (called.digest, called.present)
    assert Answer.load(said.save(tmp_path / "a.answer")).written == said.written
    with pytest.raises(StorageError):
        Roll.load(tmp_path / "a.answer")
    # The roll and the answers hold no secret of the file in the open.
    text = (tmp_path / "roll.json").read_text() + (tmp_path / "a.answer").read_text()
    assert not any(secret in text for secret in secrets)


# Processes that are killed: before their keys are used up, behind it, behind the note which roll is
# answered, and before the coordinator's keys are used up.
# Of what dies: the class and its function, and whether that is done before.
PLACES = {
    "part, nothing used": (Keys, "use_up", False),
    "part, keys used": (Keys, "use_up", True),
    "roll": (Roll, "save", False),
    "roll, written": (Roll, "save", True),
    "answer, not bound": (Kept, "_bind", False),
    "answer, bound": (Kept, "_bind", True),
    "merge": (Keys, "use_up", False),
    "merge, keys used": (Keys, "use_up", True),
}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def killed(place, *arguments):
    """Run the command in a process of its own, which is killed at a place."""
    owner, name, done = PLACES[place]
    whole = getattr(owner, name)

    def dying(*given):
        if done:
            whole(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            setattr(owner, name, dying)
            run(*arguments)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_that_are_killed_at_every_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = ",".join(map(str, range(POINTS)))
    for name, block in zip(NAMES, shares_of(RECORDS, 5), strict=True):
        np.savetxt(f"{name}.csv", block, delimiter=",", header=header, comments="")
        Keys.make(name, UNITS).save(f"{name}.keys")
        Keys.load(f"{name}.keys").save_card(f"{name}.card")
    Keys.make("registry").save("registry.keys")
    cards, lead = [f"{name}.card" for name in NAMES], ["--keys", "registry.keys"]
    grid = ["--grid", f"0:{POINTS - 1}:1", "--bounds", "-1", "1.5", "--epsilon", "1"]
    told = run("agree", "mean", *cards, *lead, *grid, "--threshold", 3, "--out", "agreed.json")
    assert told.exit_code == 0, told.output
    assert "send it to all custodians; it is public" in told.stdout
    agreed = ["--agreement", "agreed.json"]
    assert "It is public. Next: compare the fingerprint" in run("part", *agreed).stdout
    mark = ["--fingerprint", re.search(r"fingerprint: +(\S+)", told.stdout)[1]]

    def step(name, verb, source):
        return [verb, source, *agreed, "--keys", f"{name}.keys", "--out", f"{name}.{verb}"]

    def parted(name):
        return [*step(name, "part", f"{name}.csv"), *mark]

    # a is killed before its keys are used, and makes its part again; e behind that, and is lost.
    killed("part, nothing used", *parted("a"))
    killed("part, keys used", *parted("e"))
    for name in "abcd":
        done = run(*parted(name))
        assert (done.exit_code, "nobody else can read it" in done.stdout) == (0, True)
        assert f"{name}.keys can do one thing more: keep it, secret" in done.stdout
    lost = run(*parted("e"))
    assert (lost.exit_code, "were used" in lost.stderr) == (2, True)
    # d is too late for the roll.
    called = ["roll", "a.part", "b.part", "c.part", *agreed, *lead, "--out", "roll.json"]
    # The coordinator is killed before its roll is written, and behind: it calls the same one again.
    killed("roll", *called)
    killed("roll, written", *called)
    first = Path("roll.json").read_bytes()
    done = run(*called, "--overwrite")
    assert done.exit_code == 0, done.output
    assert Path("roll.json").read_bytes() == first
    assert "in:  a, b, c\nout: d, e\n" in done.stdout
    assert "It is public" in done.stdout
    # a is killed before it is bound, b behind it; both answer again. e lost its part, and still answers.
    killed("answer, not bound", *step("a", "answer", "roll.json"))
    killed("answer, bound", *step("b", "answer", "roll.json"))
    late = ["roll", *(f"{name}.part" for name in "abcd"), *agreed, *lead, "--out", "late.json"]
    assert run(*late).exit_code == 0
    refused = run(*step("b", "answer", "late.json"))
    assert (refused.exit_code, "must answer one roll" in " ".join(refused.stderr.split())) == (2, True)
    merged = ["merge", *(f"{name}.part" for name in "abc")]
    for name in "abe":
        done = run(*step(name, "answer", "roll.json"))
        assert (done.exit_code, f"{name}.answer, sealed for registry" in done.stdout) == (0, True)
        if name == "b":
            few = run(*merged, "a.answer", "b.answer", *agreed, *lead, "--out", "fa.json")
            assert "answers of at least 3 custodians must be there" in " ".join(few.stderr.split())
    merged += [*(f"{name}.answer" for name in "abe"), *agreed, *lead, "--out", "fa.json"]
    killed("merge", *merged)
    # Behind its keys the release is lost: another opening would be a second one.
    spare = [*merged[:-2], "--out", "lost.json"]
    spare[spare.index("registry.keys")] = shutil.copy("registry.keys", "spare.keys")
    killed("merge, keys used", *spare)
    lost = run(*spare)
    assert (lost.exit_code, "were used" in lost.stderr) == (2, True)
    assert not Path("lost.json").exists()
    done = run(*merged)
    assert done.exit_code == 0, done.output
    assert load("fa.json").count == 30
    assert "fa.json may be shown to anybody; registry.keys is used up" in done.stdout
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".claim"] == []
