"""What the package index shows: README with links that lead somewhere, and the project's addresses.

The public address is filled in once, in ``pyproject.toml``: ``[tool.addresses] repository``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Everything that follows from the one address."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme, and the addresses where there is one."""
        root = Path(self.root)
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        address = settings["tool"]["addresses"]["repository"].rstrip("/")
        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_links(text, address)}
        if address:
            metadata["urls"] = {
                "Repository": address,
                "Issues": f"{address}/issues",
                "Changelog": f"{address}/blob/main/CHANGELOG.md",
                "Security": f"{address}/security/policy",
            }


def with_links(text: str, address: str) -> str:
    """A page whose links within the repository lead to its address; words alone where there is none."""
    inside = r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)"

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if not address:
            return "" if picture else words
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/main/{target})"

    return re.sub(inside, absolute, text)
