"""Ask Coq on what axioms the theorems that the documentation names rest; refuse others than the reals'.

Usage: assumptions.py [coqc]. What Coq answers for theorems about integers alone, and for all others, is
printed beside each of them, and kept in Assumptions.log.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs" / "machine_checked.md"
# Coq's real numbers are built on these, and its libraries of real analysis on classical logic.
ALLOWED = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
FORBIDDEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort)\b")


def named() -> list[str]:
    """Theorems that the page names, each with its file: `File.theorem`."""
    names = re.findall(r"`([A-Z]\w*\.[a-z]\w*)`", PAGE.read_text(encoding="utf-8"))
    return [name for name in dict.fromkeys(names) if (FOLDER / f"{name.split('.')[0]}.v").exists()]


def unproved() -> list[str]:
    """Lines of the proofs that leave something unproved."""
    found = []
    for file in sorted(FOLDER.glob("*.v")):
        text = re.sub(r"\(\*.*?\*\)", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += [f"{file.name}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    return found


def groups(names: list[str]) -> dict[str, list[str]]:
    """Theorems about integers alone, and the others."""
    made: dict[str, list[str]] = {"integers": [], "reals": []}
    for name in names:
        text = (FOLDER / f"{name.split('.')[0]}.v").read_text(encoding="utf-8")
        made["reals" if re.search(r"^From .*\bReals\b", text, re.MULTILINE) else "integers"].append(name)
    return made


def answers(coqc: str, parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """For each group the names of the axioms that its theorems rest on all together.

    Coq looks through what they share, such as the real numbers, once for a group and not for each.
    """
    files = sorted({name.split(".")[0] for names in parts.values() for name in names})
    text = "".join(f"From Proofs Require {file}.\n" for file in files)
    for group, names in parts.items():
        own = ", ".join(f"@{name}" for name in names)
        text += f"Definition about_{group} := ({own}).\nPrint Assumptions about_{group}.\n"
    (FOLDER / "Assumptions.v").write_text(text, encoding="utf-8")
    made = subprocess.run(  # noqa: S603
        [coqc, "-Q", ".", "Proofs", "Assumptions.v"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(
        r"Closed under the global context|Axioms:\n(?:.+\n?)*?(?=Closed|Axioms:|\Z)", made.stdout
    )
    if len(found) != len(parts):
        raise SystemExit(f"there are {len(parts)} groups of theorems; Coq answered for {len(found)}")
    return {
        group: re.findall(r"^(\S+)(?: :|$)", part, re.MULTILINE)[1:] if part.startswith("Axioms") else []
        for group, part in zip(parts, found, strict=True)
    }


def main() -> int:
    """Print and keep what Coq answers; 1 where something is missing."""
    wrong, parts, lines = unproved(), groups(named()), []
    for group, axioms in answers(sys.argv[1] if len(sys.argv) > 1 else "coqc", parts).items():
        lines += [f"{name}: {', '.join(axioms) or 'no axiom'}" for name in parts[group]]
        wrong += [f"theorems about {group} rest on {axiom}" for axiom in axioms if axiom not in ALLOWED]
    print("\n".join(lines))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    (FOLDER / "Assumptions.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} theorems, all proved")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
