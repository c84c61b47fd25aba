"""`dpfda demo`: the main job on a small real data set that is public."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.publishing import save_plot, save_table, words, write_release
from dpfda.command.running import tell
from dpfda.numerics.errors import StorageError

if TYPE_CHECKING:
    from dpfda.datasets import TemperatureCurves
    from dpfda.releases.function import ReleasedFunction

# Degrees Celsius: no hour on record in Seattle lies outside.
BOUNDS = (-20.0, 45.0)
DOMAIN = (0.0, 23.0)
LABELS = {"domain": "hour of the day", "value": "temperature (degrees C)"}
FILES = ("mean_day.json", "mean_day.png", "mean_day.csv")


def demo(*, out: Path = Path("dpfda-demo")) -> None:
    """Publish the mean day of Seattle's temperatures, and explain each step.

    The data are public and ship inside the package; days of hourly temperatures stand in for private
    curves, with a day as the record to be protected.

    Parameters
    ----------
    out : DIR
        Folder for the demo's files, made if it does not exist. Files of an earlier demo are replaced.

    Examples
    --------
    dpfda demo --out dpfda-demo
    """
    from importlib.util import find_spec

    from dpfda.datasets import load_temperatures
    from dpfda.mean.estimator import PrivateMean
    from dpfda.privacy.caveats import already_charged
    from dpfda.releases.files import check_writable
    from dpfda.spine.settings import Domain

    _make_folder(out)
    release_path, plot, csv = (out / name for name in FILES)
    for path in (release_path, plot, csv):
        check_writable(path)
    data = load_temperatures()
    domain = Domain(data.grid_points, DOMAIN, labels=LABELS)
    mean = PrivateMean(1, bounds=BOUNDS, domain=domain, unit="day")
    with already_charged():
        # The data are public: no ledger is theirs.
        release: Any = mean.fit(data.values).release_
    drawn = plot if find_spec("matplotlib") is not None else None
    outputs = [(o.CSV, csv, save_table), (o.PLOT, drawn, save_plot)]
    files = write_release(release, release_path, outputs)
    tell(_story(data, release, mean.plan(len(data.values)).error or 0.0, files, release_path))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"--out must be a folder that can be made; found {str(folder)!r} ({error.strerror}). "
            "Choose another."
        ) from None


def _story(
    data: TemperatureCurves,
    release: ReleasedFunction,
    expected: float,
    files: dict[str, str],
    path: Path,
) -> str:
    days, hours = data.values.shape
    low, high = BOUNDS
    gap = release(data.grid_points) - data.values.mean(axis=0)
    error = float((gap**2).mean() ** 0.5)
    source, first, folder = (shlex.quote(str(p)) for p in (data.path, path, path.parent))
    span = f"[{low:g}, {high:g}] degrees C"
    typed = f"--bounds {low:g} {high:g} --domain 0 23"
    lines = [
        "What was done",
        f"  Read {days} days of {hours} hourly temperatures in Seattle (climate normals: public).",
        "  Each day is one record, as each patient would be. Published the mean day:",
        "",
        words(release, files),
        "",
        "What it means",
        f"  Every temperature was moved into {span}, a range that anyone could have",
        f"  named without seeing the file. Whatever one of the {days} days was like: the odds that an",
        "  observer gives for it change by at most a factor exp(1) = 2.72 through this release.",
        "  The published curve is a function: evaluate, draw and mail it as often as you like.",
        "",
        "What error to expect",
        f"  Foretold from public numbers alone: {expected:.2g} degrees C at a typical hour, the middle",
        "  over ordinary curves between these bounds. As these data are public, we may look:",
        f"  it was {error:.2g}. (With private data nobody may look: that would be another release.)",
        "",
        "What to try next",
        f"  dpfda show {first}",
        f"  dpfda eval {first} --at 6,12,17.5",
        f"  dpfda plan --units {days} --epsilon 1 --points {hours} {typed}",
        f"  dpfda mean {source} \\",
        f"      --epsilon 0.2 {typed} \\",
        f"      --out {folder}/again.json",
        "  The last one is a second release from the same data: its epsilon adds to the first one's.",
    ]
    if "plot" not in files:
        lines.append("  No picture was drawn, which needs: pip install 'dpfda[plot]'")
    return "\n".join(lines)


VERB = Verb.of(demo, o.PLANNING)
