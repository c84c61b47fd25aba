"""What people meet: the command, which finds the verbs, the explorer and other libraries."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command, or say in one line which extra it needs."""
    if any(find_spec(package) is None for package in ("typer", "rich")):
        print("error: the command needs its extra: pip install 'dpfda[cli]'", file=sys.stderr)
        raise SystemExit(1)
    # Typer's reader of options would look through all installed packages for plug-ins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from dpfda.front.app import app
    from dpfda.spine import base

    base.COMMAND = True
    app(prog_name="dpfda")
