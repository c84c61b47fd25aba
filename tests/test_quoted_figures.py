"""Figures that the page of experiments states are those of the results beside it."""

import csv
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from experiments.common import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "experiments.md"
Row = dict[str, str]


def table(name: str, **chosen: str) -> list[Row]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [row for row in rows if all(row[key] == value for key, value in chosen.items())]


def column(rows: Iterable[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def short(value: float, digits: int) -> str:
    """With so many digits after the point, and none before it where that is a zero."""
    return re.sub(r"^0(?=\.)", "", f"{value:.{digits}f}")


def geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def in_one_paragraph() -> list[str]:
    rows = table("table2")
    off = [abs(float(row["off_percent"])) for row in rows if row["off_percent"]]
    cells: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row["dataset"], row["kernel"], row["epsilon"]), {})[row["mechanism"]] = row
    honest = [
        {name: float(row["honest_closed"]) for name, row in cell.items()} for cell in cells.values()
    ]
    of_the_four = [{name: value for name, value in cell.items() if name != "auto"} for cell in honest]
    first = sum(min(cell, key=lambda name: cell[name]) == "iid_laplace" for cell in of_the_four)
    assert all(cell["auto"] < min(four.values()) for cell, four in zip(honest, of_the_four, strict=True))
    printed = [
        float(cell["iclp_rkhs"]["printed"]) / float(cell["auto"]["honest"]) for cell in cells.values()
    ]
    plugged = [cell["iclp_rkhs"] / cell["auto"] for cell in honest]
    default = [
        float(row["printed"]) / float(row["ours_equal"])
        for row in table("best_mean")
        if row["printed"] != "nan"
    ]
    return [
        f"All {len(off)} cells of Table 2 are reproduced within {max(off):.1f} %"
        f" ({sum(value < 1 for value in off)} within 1 %)",
        f"noise has the least error of the four in {first} of {len(honest)} settings",
        f"{geometric(printed):.1f} times below the printed ICLP-RKHS column in the geometric mean"
        f" (least {min(printed):.1f})",
        f"{geometric(plugged):.1f} times below honest ICLP-RKHS",
        f"the default, it is {geometric(default):.1f} times (least {min(default):.1f})",
    ]


def mean_figures() -> list[str]:
    def error(scenario: str, size: str, of: str, mechanism: str) -> float:
        (row,) = table("figure2", scenario=scenario, n=size, column=of, mechanism=mechanism)
        return float(row["mse"])

    factors = {}
    for scenario in ("S-1", "S-2", "S-3", "S-4"):
        plain, tuned = (
            column(
                [
                    row
                    for row in table("figure1", scenario=scenario, tuning=tuning)
                    if row["mechanism"] != "iid_laplace"
                ],
                "mse",
            )
            for tuning in ("plug-in", "pcv")
        )
        factors[scenario] = max(a / b for a, b in zip(plain, tuned, strict=True))
    assert max(factors[name] for name in ("S-1", "S-2", "S-3")) < 2.5
    near = [
        error("S-4", "5000", "reproduced", "iclp_rkhs") / error("S-4", "5000", "honest", name)
        for name in ("auto", "auto_l1")
    ]
    for scenario in ("S-1", "S-2", "S-3"):
        for size in ("100", "200", "500", "1000"):
            honest = column(table("figure2", scenario=scenario, n=size, column="honest"), "mse")
            assert error(scenario, size, "reproduced", "iclp_rkhs") < min(honest)
    for scenario in ("S-2", "S-3"):
        reproduced = error(scenario, "5000", "reproduced", "iclp_rkhs")
        assert error(scenario, "5000", "honest", "auto_l1") < reproduced
    usual = max(factors[name] for name in ("S-1", "S-2", "S-3"))
    return [
        f"within a factor of {usual:.0f} below it in S-1 to S-3, and up to {factors['S-4']:.0f} times"
        " below it in S-4",
        f"In S-4 the library's choice is {near[0]:.0f} (l2 bound) and {near[1]:.0f} times (l1 bound)"
        " below it at n = 5,000",
    ]


def densities() -> list[str]:
    def errors(figure: str, of: str, mechanism: str, measured: str) -> list[float]:
        rows = table(figure, column=of)
        return column([row for row in rows if row["mechanism"].startswith(mechanism)], measured)

    def truth(figure: str, of: str, mechanism: str) -> float:
        return errors(figure, of, mechanism, "to_truth")[0]

    third = [e for of in ("printed scale", "honest") for e in errors("figure3", of, "ICLP", "to_truth")]
    printed, honest = (
        errors("figure4", of, "ICLP", "to_kernel_estimate") for of in ("printed scale", "honest")
    )
    best, library = (
        errors("figure4", of, mechanism, "to_kernel_estimate")[0]
        for of, mechanism in (("best M NOT PRIVATE", "IID"), ("honest", "library's kernel"))
    )
    cells = {(row["region"], row["mechanism"]): row for row in table("table3")}
    least = {
        unit: min(
            float(row["printed"]) / float(cells[region, unit]["in_printed_units"])
            for (region, _), row in cells.items()
            if row["printed"]
        )
        for unit in ("library_thousands", "library_persons")
    }
    return [
        "default (noisy counts of cells) has an error of"
        f" {short(truth('figure3', 'honest', LIBRARY), 4)},"
        f" the non-private kernel estimate {short(truth('figure3', 'without noise', 'kernel'), 3)},"
        f" ICLP {short(min(third), 3)} to {short(max(third), 3)}",
        f"squared length of {min(printed):.1f} to {max(printed):.1f} as printed,"
        f" {min(honest):.1f} to {max(honest):.1f} at the right scale",
        f"IID Laplace (best M, {short(best, 4)} from the estimate), the library's heat kernel"
        f" ({short(library, 4)}), and its default, {short(truth('figure4', 'honest', LIBRARY), 4)} from"
        f" the truth, where the non-private estimate is"
        f" {short(truth('figure4', 'without noise', 'kernel'), 4)} from it",
        f"by a factor of at least {math.floor(least['library_thousands'])} if a thousand deaths are one"
        f" unit and of {math.floor(least['library_persons'] / 1e6)} million if a death is",
    ]


def gaussian() -> list[str]:
    first, second = table("dti_table1"), table("dti_table2", noise="coded", penalties="inferred")
    agree = sum(float(row["printed_rho"]) == float(row["reproduced_rho_coarse"]) for row in first)
    finely = [row for row in first if float(row["printed_rho"]) == float(row["reproduced_rho_fine"])]
    splits = column(first, "splits_with_printed")
    above = max(float(row["score_at_printed"]) / float(row["least_score"]) - 1 for row in first)
    shares = {row["kernel"]: float(row["share_of_printed"]) for row in second}
    assert shares["gaussian"] == shares["matern32"] == 1
    figures = table("dti_figures", figure="3")
    roots = {
        name: sorted(math.sqrt(value) for value in column(figures, name))
        for name in ("coded", "printed")
    }
    library = {
        name: max(math.sqrt(value) for value in column(figures, name))
        for name in ("library", "library_people", "library_people_1e6")
    }
    (default,) = table("scenarios", figure="1", panel="phi = 0.01", convention="printed")
    (coded, printed) = (roots[name] for name in ("coded", "printed"))
    assert set(splits) == {1.0}
    return [
        f"Table 1: all {agree} cells, in every one of 20 random splits, on a set of ranges",
        f"(on a finer set {len(finely)} of {len(first)}; the other two printed ranges score within"
        f" {short(100 * above, 2)} % of the best)",
        f"the exponential row in {100 * shares['exponential']:.0f} %",
        f"setting is {short(math.sqrt(float(default['reproduced'])), 2)} away from a mean of norm .071",
        f"library's choice is at most {short(library['library'], 3)} away from the mean,"
        f" against {short(coded[0], 3)} to {short(coded[-1], 3)} for Figure 3 as coded and"
        f" {short(printed[0], 3)} to {short(printed[-1], 3)} as printed",
        f"as the unit it is at most {short(library['library_people'], 3)}, at delta 1e-6"
        f" {short(library['library_people_1e6'], 3)}",
    ]


LIBRARY = "library's default"


def combinations() -> list[str]:
    rows = {row["study"]: row for row in table("matching")}
    deaths = rows["Table 3"]
    farthest, half = (float(deaths[f"{name}_deviation"]) for name in ("largest", "median"))
    assert float(deaths["within_3"]) == 0
    return [
        f"{sum(int(row['combinations']) for row in rows.values()):,} combinations of bandwidths",
        f"Of {int(deaths['combinations']):,} combinations of what is not printed none comes within a"
        f" factor of 3 of all {deaths['numbers']} cells (the nearest: {farthest:.2f}, half of its cells"
        f" within {half:.2f})",
    ]


@pytest.mark.parametrize("stated", [in_one_paragraph, mean_figures, densities, gaussian, combinations])
def test_the_page_of_experiments_states_what_was_found(stated: Callable[[], list[str]]) -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for words in stated():
        assert words in page
