"""Figure 6 of Lin & Reimherr (2023): Figures 1 and 2 again with the Matern 5/2 kernel.

Run `python -m experiments.figure6` (`--quick` for few repetitions). No data are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import common, figure1, figure2

SEED = 2026112617
KERNEL = "matern52"
TITLE = "Figure 6 of Lin & Reimherr (2023), Matern 5/2"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run both halves and write figure6_top and figure6_bottom, each as CSV and PNG."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    for name, half in (("figure6_top", figure1), ("figure6_bottom", figure2)):
        rows = half.run(options, KERNEL)
        common.write_csv(options.results / f"{name}.csv", rows)
        half.draw_picture(options.results / f"{name}.png", rows, TITLE)


if __name__ == "__main__":
    main()
