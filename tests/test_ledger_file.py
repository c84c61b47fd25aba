"""The file of a ledger: one file whatever it is called, never read lower, never half."""

import errno
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from fractions import Fraction

import pytest

from dpfda.errors import LedgerError
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import Ledger, MemoryLedger, disk, lines
from ledger_processes import ENTRY, charge_by_any_name

TENTH = PureDP("0.1")
# The whole run has 300 deaths and 2,000 mutations.
DEATHS = 30
MUTATIONS = 200


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def charged(path, times=2):
    """A ledger of two data sets, and its spent amounts."""
    ledger = Ledger(path).create("scans", PureDP(1)).create("loads", PureDP(2))
    for _ in range(times):
        ledger.charge("scans", TENTH, ENTRY)
        ledger.charge("loads", TENTH, ENTRY)
    return ledger


def spent(ledger):
    return {name: ledger.spent(name)["epsilon"] for name in ledger.datasets()}


# --- crashes ---


def after(path, ledger, monkeypatch):
    """The bytes before a charge, and those of its two writes with their places."""
    before, writes = path.read_bytes(), []
    real = disk.write_at
    monkeypatch.setattr(
        disk, "write_at", lambda d, at, text: writes.append((at, text)) or real(d, at, text)
    )
    ledger.charge("scans", TENTH, ENTRY)
    monkeypatch.undo()
    return before, writes


def test_a_crash_at_any_byte_leaves_the_charge_out_or_in_and_nothing_else(path, monkeypatch):
    ledger = charged(path)
    old = spent(ledger)
    before, ((end, row), (place, count)) = after(path, ledger, monkeypatch)
    assert (end, len(count)) == (len(before), lines.COUNT_SIZE)
    new = spent(ledger)
    assert new == old | {"scans": old["scans"] + Fraction(1, 10)}
    whole = before + row
    torn = [(before + row[:k], old) for k in range(len(row))]
    # A block that never reached the disk reads as zeros, also before one that did.
    torn += [(before + bytes(k) + row[k:], old) for k in range(1, len(row), 7)]
    torn += [(whole[:place] + count[:k] + whole[place + k :], new) for k in range(len(count) + 1)]
    for content, expected in torn:
        path.write_bytes(content)
        assert ledger.spent("scans")["epsilon"] == expected["scans"]
    for content, expected in torn[::19]:
        path.write_bytes(content)
        ledger.charge("scans", TENTH, ENTRY)
        assert spent(ledger)["scans"] == expected["scans"] + Fraction(1, 10)
        ledger.check()


def test_a_full_disk_charges_nothing_and_says_so(path, monkeypatch):
    ledger = charged(path)
    before, real = path.read_bytes(), os.write

    def full(descriptor, text):
        if len(text) < 60:
            raise OSError(28, "No space left on device")
        return real(descriptor, bytes(text)[:50])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LedgerError, match="cannot grow, the disk is full; nothing was charged"):
        ledger.charge("scans", TENTH, ENTRY)
    monkeypatch.undo()
    assert path.read_bytes() == before


@pytest.mark.parametrize(("failing", "error"), [(1, errno.EIO), (2, errno.EIO), (2, errno.ENOSPC)])
def test_a_disk_that_fails_leaves_the_charge_uncertain_and_says_so(path, monkeypatch, failing, error):
    ledger, calls, real = charged(path), [], os.fsync

    def sync(descriptor):
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError(error, os.strerror(error))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(LedgerError, match="may or may not have been kept, so no noise may be drawn"):
        ledger.charge("scans", TENTH, ENTRY)
    monkeypatch.undo()
    # Where the row stayed, it counts.
    assert ledger.spent("scans")["epsilon"] == Fraction(1 + failing, 10)
    ledger.check()


# --- names ---


def test_hard_links_are_refused_under_both_names(path):
    ledger = charged(path)
    other = path.with_name("other.ledger")
    os.link(path, other)
    for name in (path, other):
        for use in (
            lambda name=name: Ledger(name).charge("scans", TENTH, ENTRY),
            lambda name=name: Ledger(name).spent("scans"),
            lambda name=name: Ledger(name).create("scans", PureDP(1)),
        ):
            with pytest.raises(LedgerError, match=r"must have one name; .* has 2 \(hard links\)"):
                use()
    path.unlink()
    assert spent(Ledger(other)) == {"scans": Fraction(2, 10), "loads": Fraction(2, 10)}
    with pytest.raises(LedgerError, match="found none at"):
        ledger.spent("scans")


def test_a_symbolic_link_is_the_file_itself_also_where_it_is_locked(path, monkeypatch):
    charged(path)
    link = path.with_name("link.ledger")
    link.symlink_to(path.name)
    Ledger(link).charge("scans", TENTH, ENTRY)
    assert link.is_symlink()
    assert Ledger(path).spent("scans")["epsilon"] == Fraction(3, 10)
    monkeypatch.setattr(disk, "PATIENCE", 0.02)
    with disk.locked(path, writing=True), pytest.raises(LedgerError, match="in use by another"):
        Ledger(link).charge("scans", TENTH, ENTRY)


def test_a_crash_before_a_rename_is_the_same_crash(path, monkeypatch):
    """The whole file is what a crash leaves, so it is read the same under any name."""
    ledger = charged(path)
    _, ((_, row), _) = after(path, ledger, monkeypatch)
    path.write_bytes(path.read_bytes() + row[:30])
    assert os.listdir(path.parent) == [path.name]
    other = path.with_name("renamed.ledger")
    path.rename(other)
    assert Ledger(other).spent("scans")["epsilon"] == Fraction(3, 10)
    Ledger(other).charge("scans", TENTH, ENTRY)
    other.rename(path)
    assert ledger.spent("scans")["epsilon"] == Fraction(4, 10)
    ledger.check()


def test_a_file_renamed_while_one_waits_for_it_is_not_made_again(path, monkeypatch):
    ledger, answers = charged(path), []
    waits, sleep = threading.Event(), time.sleep

    def charge():
        try:
            answers.append(ledger.charge("scans", TENTH, ENTRY))
        except LedgerError as error:
            answers.append(str(error))

    # The lock is another process's as far as the thread can tell.
    with disk.locked(path, writing=True):
        monkeypatch.setattr(disk.time, "sleep", lambda seconds: waits.set() or sleep(seconds))
        waiting = threading.Thread(target=charge)
        waiting.start()
        assert waits.wait(60)
        path.rename(path.with_name("renamed.ledger"))
    waiting.join()
    assert "was removed while it was used; nothing was charged" in answers[0]
    assert os.listdir(path.parent) == ["renamed.ledger"]


def test_a_file_that_was_removed_under_the_lock_takes_no_charge(path, monkeypatch):
    ledger, real = charged(path), disk.write_at

    def removed(descriptor, place, content):
        path.unlink(missing_ok=True)
        real(descriptor, place, content)

    monkeypatch.setattr(disk, "write_at", removed)
    with pytest.raises(LedgerError, match="was removed or replaced while it was written"):
        ledger.charge("scans", TENTH, ENTRY)


def test_an_empty_file_may_have_been_a_ledger(path, monkeypatch):
    monkeypatch.setattr("dpfda.privacy.ledger.file.MAKING", 0.05)
    path.touch()
    with pytest.raises(LedgerError, match=r"is empty\. If it never was a ledger, remove it"):
        Ledger(path).create("scans", PureDP(1))
    assert path.read_bytes() == b""


def test_many_that_make_one_file_at_once_make_one_ledger(path):
    gate, failures = threading.Barrier(8), []

    def make(number):
        gate.wait()
        try:
            Ledger(path).create(f"set {number}", PureDP(1))
        except LedgerError as error:
            failures.append(error)

    makers = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert not failures
    assert len(Ledger(path).datasets()) == 8


# --- changed bytes ---


def mutated(content, chance):  # noqa: PLR0911
    """Some bytes changed: flipped bits, zeros, a cut, a piece lost, doubled or moved."""
    start, stop = sorted(chance.sample(range(len(content)), 2))
    how = chance.randrange(7)
    if how == 0:
        place = start
        return (
            content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        )
    if how == 1:
        changed = bytearray(content)
        for place in chance.sample(range(len(content)), chance.randint(2, 40)):
            changed[place] ^= 1 << chance.randrange(8)
        return bytes(changed)
    if how == 2:
        block = 512 * (start // 512)
        return content[:block] + bytes(len(content[block : block + 512])) + content[block + 512 :]
    if how == 3:
        return content[:start]
    if how == 4:
        return content[:start] + content[stop:]
    if how == 5:
        return content[:stop] + content[start:]
    parts = content.split(b"\n")
    first, second = chance.sample(range(len(parts)), 2)
    parts[first], parts[second] = parts[second], parts[first]
    return b"\n".join(parts)


def test_a_changed_file_is_refused_or_read_with_the_same_totals(path):
    chance = random.Random(9)  # noqa: S311
    ledger = charged(path, times=4)
    whole, expected, refused = path.read_bytes(), spent(ledger), 0
    for _ in range(MUTATIONS):
        content = mutated(whole, chance)
        path.write_bytes(content)
        try:
            assert spent(ledger) == expected, content
        except LedgerError:
            refused += 1
    # What is left are mutations of one count, of which there are two, and those that change nothing.
    assert refused > 0.7 * MUTATIONS


def test_every_byte_counts(path):
    charged(path, times=1)
    whole, counts = path.read_bytes(), []
    rows = lines.read(whole, "file").rows
    for place in range(len(whole)):
        try:
            found = lines.read(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :], "file")
        except LedgerError:
            continue
        assert found.rows == rows
        counts.append(place)
    # One count is enough where the other is that of a write that a crash cut short.
    last = 1 - lines.read(whole, "file").older
    second = lines.HEADER_SIZE + lines.COUNT_SIZE * last
    assert counts == list(range(second, second + lines.COUNT_SIZE))


def test_rows_of_another_ledger_are_refused(path):
    charged(path)
    other = charged(path.with_name("other.ledger"), times=5)
    mine, theirs = path.read_bytes(), other.path.read_bytes()
    head = lines.HEADER_SIZE + 2 * lines.COUNT_SIZE
    path.write_bytes(mine[:head] + theirs[head:])
    with pytest.raises(LedgerError, match=r"is damaged: row 1 is missing or was changed\. Nothing"):
        Ledger(path).spent("scans")


# --- earlier versions ---


def test_charges_without_costs_of_stages_add_up_at_what_they_state(path):
    ledger = MemoryLedger().create("scans", PureDP(1), unit="record")
    for _ in range(3):
        ledger.charge("scans", TENTH, ENTRY)
    rows = [record.to_json() for record in ledger.history()]
    for row in rows:
        # As they were kept at first: stages had no costs of their own, and releases no identity.
        row["asked"] = row["asked"] and {k: v for k, v in row["asked"].items() if k != "costs"}
    path.write_bytes(lines.new_file(tuple(map(lines.row_text, rows))))
    assert compose(Ledger(path).charges("scans")) == PureDP("0.3")
    assert Ledger(path).budget("scans").unit == "record"


def test_a_ledger_of_the_first_schema_is_refused_and_let_alone(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {0x64706664}")
        connection.execute("CREATE TABLE history (dataset TEXT, budget TEXT, spent TEXT)")
        connection.commit()
    before = path.read_bytes()
    for use in (
        lambda ledger: ledger.spent("scans"),
        lambda ledger: ledger.charge("scans", TENTH, ENTRY),
    ):
        with pytest.raises(
            LedgerError, match=r"is of version 1, an SQLite .* Create a new ledger whose"
        ):
            use(Ledger(path))
    assert path.read_bytes() == before


# --- deaths ---


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_killed_while_the_file_is_renamed_and_linked_never_exceed_a_budget(tmp_path):
    chance = random.Random(3)  # noqa: S311
    names = [tmp_path / name for name in ("a.ledger", "b.ledger", "c.ledger")]
    link = tmp_path / "link.ledger"
    now = names[0]
    budget = Fraction(DEATHS, 20)
    Ledger(now).create("scans", PureDP(budget))
    told = set()
    # More pairs on a machine so busy that its processes die before they tell much.
    for pairs in range(1, 1000):
        pipes, children = [os.pipe() for _ in range(2)], []
        for _, write in pipes:
            child = os.fork()
            if child == 0:
                try:
                    charge_by_any_name([*names, link], write)
                finally:
                    os._exit(1)
            children.append(child)
        until = time.monotonic() + 0.05 + 0.1 * chance.random()
        while time.monotonic() < until:
            time.sleep(0.01 * chance.random())
            other = chance.choice([name for name in names if name != now])
            how = chance.randrange(4)
            if how == 0:
                now = now.rename(other)
            elif how == 1:
                os.link(now, other)
                time.sleep(0.003)
                now.unlink()
                now = other
            elif how == 2:
                link.unlink(missing_ok=True)
                link.symlink_to(now.name)
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        for read, write in pipes:
            os.close(write)
            with os.fdopen(read) as handle:
                told |= {int(line) for line in handle}
        now = now.rename(chance.choice([name for name in names if name != now]))
        Ledger(now).check()
        if 2 * pairs >= DEATHS and len(told) > DEATHS:
            break
    ledger = Ledger(now)
    rows = {record.number for record in ledger.history() if record.action == "charge"}
    assert told <= rows
    assert len(told) > DEATHS
    assert len(rows - told) <= 2 * pairs
    assert ledger.spent("scans")["epsilon"] == Fraction(len(rows), 1000) <= budget
    assert json.loads(ledger.export().splitlines()[-1])["number"] == max(rows)
