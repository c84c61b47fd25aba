"""`dpfda combine`: several releases of one mean as one."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import print_json
from dpfda.numerics.errors import InPython, ParameterError


def combine(
    files: list[Path], *, out: Path, apart: bool = False, overwrite: bool = False, as_json: bool = False
) -> None:
    """Make one release of several of one mean, such as two hospitals' or two years'. Costs nothing.

    Grids, numbers of units and budgets may differ; the domain and who is protected may not. By default
    what they guarantee is added up.

    Parameters
    ----------
    files : F.json...
        Two or more releases of a mean curve, each of another charge.
    out : --out F.json
        The release that they make together.
    apart
        No unit has records in two of them, as where each is a patient of one hospital alone. Then they
        guarantee together what the weakest of them does. That it is so is stated, not checked.

    Examples
    --------
    dpfda combine last-year.json this-year.json --out both.json
    dpfda combine north.json south.json west.json --apart --out all.json
    """
    from dpfda.command.files import check_outputs, opened
    from dpfda.command.publishing import tell_files
    from dpfda.releases.combined import CombinedMean
    from dpfda.releases.function import ReleasedFunction
    from dpfda.releases.pooled_mean import ReleasedPooledMean

    if len(files) < 2:
        raise ParameterError("F.json", "be two releases or more", f"{len(files)}")
    check_outputs({"--out": out}, {str(file): file for file in files}, overwrite)
    releases = []
    for file in files:
        release = opened(file)
        if not isinstance(release, ReleasedFunction | ReleasedPooledMean | CombinedMean):
            raise ParameterError("F.json", "be released mean curves", release._CALLED)
        releases.append(release)
    joint = releases[0]
    for file, other in zip(files[1:], releases[1:], strict=True):
        try:
            joint = joint.combined(other, apart)
        except ParameterError as error:
            name = repr(str(file)) if error.parameter == "other" else error.parameter
            raise error.having(parameter=InPython(name)) from None
    joint.save(out, overwrite=overwrite)
    if as_json:
        print_json(joint.to_json())
    else:
        tell_files(joint, {"release": str(out)}, as_json)


VERB = Verb.of(combine, o.RELEASED)
