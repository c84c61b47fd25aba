"""Hazard ratios: Hung & Yu's simulation with their descent beside, and sets of real follow-ups.

Run `python -m experiments.cox` (`--quick` for few data sets). The noise of `PrivateCox` is real; that of
the other descent is simulated. Rotterdam's breast cancers come from the package SurvSet, where it is
installed; the other sets from lifelines.

Data of the simulation (arXiv 2508.19640): covariates even on a cube of half side d^(-1/2), effects
(0, .5, .8), hazard one, censoring at rate .3, times up to one, delta = .001. Their descent follows the
partial likelihood in the unit ball; its sensitivity is (4 + 3 e^(2 |b|) log(n + 1)) / n at b, and their
code takes it at b = 0 in every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, datasets

from dpfda import Domain, PrivateCox
from experiments import common
from experiments.common import Floats

SEED = 2026112607
EFFECTS, CENSORING, DELTA = np.array([0.0, 0.5, 0.8]), 0.3, 1e-3
SIDE = 1 / math.sqrt(EFFECTS.size)
SIZES, EPSILONS, REPEATS, QUICK_REPEATS = (1000, 5000, 20_000), (0.75, 1.0, 3.0, 6.0), 12, 1
KNOWN = {f"z{place}": (-SIDE, SIDE) for place in range(EFFECTS.size)}

FollowUps = tuple[Floats, Any, Floats]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write cox.csv and cox_real.csv."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    sizes = SIZES[:1] if options.quick else SIZES
    repeats = QUICK_REPEATS if options.quick else REPEATS
    cases = [(n, epsilon) for n in sizes for epsilon in EPSILONS]
    common.resumed(options, "cox.csv", cases, lambda case: [simulated(*case, repeats, options.seed)])
    draw(options.results / "cox.png")
    real = [(name,) for name in SETS]
    common.resumed(options, "cox_real.csv", real, lambda case: on_real(*case, 4 * repeats))


def made_up(generator: np.random.Generator, n: int) -> FollowUps:
    """Follow-ups of the simulation."""
    terms = generator.uniform(-SIDE, SIDE, (n, EFFECTS.size))
    event = generator.exponential(np.exp(-terms @ EFFECTS))
    left = np.minimum(generator.exponential(1 / CENSORING, n), 1.0)
    return np.minimum(event, left), event <= left, terms


def simulated(n: int, epsilon: float, repeats: int, seed: int) -> dict[str, Any]:
    """Mean squared errors of the effects, and how often intervals hold; a seed a cell."""
    generator = np.random.default_rng([seed, n, round(100 * epsilon)])
    ways: dict[str, Callable[[FollowUps], Floats]] = {
        "no privacy": most_likely,
        "theirs, as coded": lambda data: noisy_partial(generator, data, epsilon, False),
        "theirs, at its b": lambda data: noisy_partial(generator, data, epsilon, True),
    }
    ours = {"rounds": {"delta": DELTA, "method": "rounds"}, "pure table": {}}
    errors: dict[str, list[float]] = {name: [] for name in (*ours, *ways)}
    noise, held = [], []
    for _ in range(repeats):
        data = made_up(generator, n)
        for name, given in ours.items():
            made = PrivateCox(epsilon, **given, covariates=KNOWN, domain=(0, 1))
            release = made.fit(*data).release_
            ratios = [release[term] for term in release.effects]
            found = np.log([ratio.value for ratio in ratios])
            errors[name].append(float(np.sum((found - EFFECTS) ** 2)))
            held += [
                ratio.lower <= math.exp(effect) <= ratio.upper
                for ratio, effect in zip(ratios, EFFECTS, strict=True)
            ]
            if name == "rounds":
                alone = [release.hazard_ratio(term, of="noise") for term in release.effects]
                widths = [math.log(each.upper / each.lower) / (2 * 1.959964) for each in alone]
                noise.append(float(np.sum(np.square(widths))))
        for name, way in ways.items():
            errors[name].append(float(np.sum((way(data) - EFFECTS) ** 2)))
    means = {name: float(np.mean(found)) for name, found in errors.items()}
    goal = means["no privacy"] + float(np.mean(noise))
    return {
        "n": n, "epsilon": epsilon, **means, "stated noise of rounds": float(np.mean(noise)),
        "rounds over no privacy and noise": means["rounds"] / goal,
        "intervals hold": float(np.mean(held)),
    }  # fmt: skip


def most_likely(data: FollowUps) -> Floats:
    """Cox's estimate without privacy, by Newton's steps on the partial likelihood."""
    times, died, terms = data
    order = np.argsort(-times)
    terms, died, effects = terms[order], died[order], np.zeros(terms.shape[1])
    for _ in range(8):
        weights = np.exp(terms @ effects)
        at_risk = np.cumsum(weights)[:, None]
        means = np.cumsum(weights[:, None] * terms, axis=0) / at_risk
        products = np.cumsum(weights[:, None, None] * terms[:, :, None] * terms[:, None], axis=0)
        spread = products / at_risk[:, :, None] - means[:, :, None] * means[:, None]
        effects = effects + np.linalg.solve(spread[died].sum(axis=0), (terms - means)[died].sum(axis=0))
    return effects


def noisy_partial(generator: np.random.Generator, data: FollowUps, epsilon: float, own: bool) -> Floats:
    """Hung & Yu's descent; `own`: its sensitivity at the effects of each step."""
    times, died, terms = data
    order = np.argsort(-times)
    terms, died, n = terms[order], died[order], times.size
    steps, effects = int(20 * math.log(n / terms.shape[1] ** 2)), np.zeros(terms.shape[1])
    for _ in range(steps):
        length = float(np.linalg.norm(effects)) if own else 0.0
        sensitivity = (4 + 3 * math.exp(2 * length) * math.log(n + 1)) / n
        deviation = sensitivity * math.sqrt(steps / epsilon * (2 * math.log(1 / DELTA) / epsilon + 1))
        weights = np.exp(terms @ effects)
        means = np.cumsum(weights[:, None] * terms, axis=0) / np.cumsum(weights)[:, None]
        slope = (terms - means)[died].sum(axis=0) / n
        effects = effects + 0.5 * (slope + deviation * generator.normal(size=effects.size))
        effects = effects / max(1.0, float(np.linalg.norm(effects)))
    return effects


# Real sets: columns of time and event, public last time, and public covariates.
SETS: dict[str, tuple[str, str, float, dict[str, Any]]] = {
    "rossi": ("week", "arrest", 52.0, {"age": (17, 45), "prio": (0, 18), "fin": ["0", "1"]}),
    "gbsg2": ("time", "cens", 2500.0, {"age": (20, 80), "pnodes": (0, 20), "horTh": ["no", "yes"]}),
    "rotterdam": (
        "time", "event", 120.0,
        {"num_age": (25, 90), "num_nodes": (0, 20), "fac_grade": ["2", "3"],
         "fac_hormon": ["no", "yes"]},
    ),
}  # fmt: skip


def on_real(name: str, repeats: int) -> list[dict[str, Any]]:
    """Log hazard ratios over half a range, or of a level: of Cox's own estimate, and by noise."""
    frame = loaded(name)
    if frame is None:
        return []
    time, event, top, known = SETS[name]
    times, died = frame[time].to_numpy(float), frame[event].to_numpy(int)
    columns = {each: frame[each].astype(str if isinstance(ends, list) else float)
               for each, ends in known.items()}  # fmt: skip
    rows = []
    for epsilon, given in ((1.0, {}), (1.0, {"delta": 1e-5}), (4.0, {})):
        made = PrivateCox(epsilon, **given, covariates=known, domain=(0, top))
        releases = [made.fit(times, died, columns).release_ for _ in range(repeats)]
        for term, expected in own_estimate(columns, known, times, died, top).items():
            ends = known[term.split("=")[0]]
            half = (ends[1] - ends[0]) / 2 if isinstance(ends, tuple) else 1.0
            found = half * np.log([release[term].value for release in releases])
            sampling = [half * deviation_of_sampling(release, term) for release in releases]
            rows.append(
                {
                    "data": name, "n": len(times), "epsilon": epsilon, "delta": given.get("delta", 0),
                    "method": releases[0].method, "term": term, "cox": half * expected,
                    "found": float(np.mean(found)),
                    "error": float(np.sqrt(np.mean((found - half * expected) ** 2))),
                    "sampling": float(np.mean(sampling)),
                }
            )  # fmt: skip
    return rows


def deviation_of_sampling(release: Any, term: str) -> float:
    """As the release states it: what its interval for a population has beside the noise."""
    both, noise = (release.hazard_ratio(term, of=of) for of in ("population", "noise"))
    widths = [math.log(each.upper / each.lower) / (2 * 1.959964) for each in (both, noise)]
    return math.sqrt(max(widths[0] ** 2 - widths[1] ** 2, 0.0))


def draw(path: Path) -> None:
    """Survival of Rotterdam's patients at epsilon 1 by number of nodes, beside Cox's own estimate."""
    frame = loaded("rotterdam")
    if frame is None:
        return
    from matplotlib.figure import Figure

    # Of nodes a doubling: their effect is no straight line.
    doubled = "log2(1 + nodes)"
    known = {doubled: (0, math.log2(21)), "age": (25, 90)}
    nodes, age = (frame[name].to_numpy(float) for name in ("num_nodes", "num_age"))
    columns = {doubled: np.log2(1 + nodes), "age": age}
    times, died = frame["time"].to_numpy(float), frame["event"].to_numpy(int)
    labels = {"domain": "months since surgery", "value": "share alive"}
    made = PrivateCox(
        1, covariates=known, domain=Domain(domain_range=(0, 120), labels=labels), unit="patient"
    )
    release = made.fit(times, died, columns).release_
    bounded = pd.DataFrame({name: columns[name].clip(*ends) for name, ends in known.items()})
    fitted = CoxPHFitter().fit(
        bounded.assign(t=np.minimum(times, 120), e=np.where(times <= 120, died, 0)), "t", "e"
    )
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axis = release.plot(figure.subplots())
    for line, words in zip(axis.lines, ("no nodes, age 57.5", "20 nodes, age 57.5"), strict=False):
        line.set_label(words)
    ends = pd.DataFrame({doubled: known[doubled], "age": [57.5, 57.5]})
    without = fitted.predict_survival_function(ends)
    axis.plot(without.index, without.to_numpy(), "k--", lw=1, label=["Cox's estimate, not private", ""])
    axis.set_xlim(0, 120)
    axis.set(ylim=(-0.05, 1.35), yticks=np.linspace(0, 1, 6))
    axis.legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=110)
    common.say(f"wrote {path}")


def own_estimate(
    columns: dict[str, Any], known: dict[str, Any], times: Floats, died: Floats, top: float
) -> dict[str, float]:
    """Log hazard ratios of Cox's estimate on the same bounded values."""
    made = {}
    for name, ends in known.items():
        if isinstance(ends, tuple):
            made[name] = columns[name].clip(*ends)
        else:
            made |= {f"{name}={level}": (columns[name] == level).astype(float) for level in ends[1:]}
    frame = pd.DataFrame(made)
    frame["t"], frame["e"] = np.minimum(times, top), np.where(times <= top, died, 0)
    fitted = CoxPHFitter().fit(frame, "t", "e")
    return dict(fitted.params_)


def loaded(name: str) -> Any:
    """A data set as a frame; None where nothing installed has it."""
    if name != "rotterdam":
        return getattr(datasets, f"load_{name}")()
    try:
        from SurvSet.data import SurvLoader
    except ImportError:
        common.say("rotterdam is left out: pip install SurvSet has it (as rott2).")
        return None
    return SurvLoader().load_dataset(ds_name="rott2")["df"]


if __name__ == "__main__":
    main()
