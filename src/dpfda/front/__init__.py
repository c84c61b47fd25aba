"""What people meet: the command, which finds the verbs, the desk and other libraries."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command, or say in one line which extra it needs."""
    if any(find_spec(package) is None for package in ("typer", "rich")):
        print("error: the command needs its extra: pip install 'dpfda[cli]'", file=sys.stderr)
        raise SystemExit(1)
    # What is loaded stays: to search all of it for garbage is a tenth of the time of a small command.
    gc.set_threshold(200_000)
    try:
        from dpfda.front.app import app
        from dpfda.spine import base

        base.COMMAND = True
        app(prog_name="dpfda")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        # As Python ends it would search all of it once more.
        gc.freeze()
