"""What the package index shows follows from one address, and workflows name what is there."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ADDRESS = "https://example.org/dpfda"


@pytest.fixture
def hook(monkeypatch) -> ModuleType:
    """The build's hook, where the builder itself need not be installed."""
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_lead_to_the_address(hook):
    text = "[a](docs/a.md#b) ![p](docs/p.png) [out](https://x.org) [here](#part)"
    assert hook.with_links(text, ADDRESS) == (
        f"[a]({ADDRESS}/blob/main/docs/a.md#b) ![p]({ADDRESS}/raw/main/docs/p.png) "
        "[out](https://x.org) [here](#part)"
    )
    assert hook.with_links(text, "") == "a  [out](https://x.org) [here](#part)"


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/", ""])
def test_no_link_of_the_readme_is_relative_on_the_index(hook, address, tmp_path):
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    filled = re.sub(r'^repository = ".*"$', f'repository = "{address}"', settings, flags=re.M)
    assert tomllib.loads(filled)["tool"]["addresses"]["repository"] == address
    (tmp_path / "pyproject.toml").write_text(filled, encoding="utf-8")
    (tmp_path / "README.md").write_bytes((ROOT / "README.md").read_bytes())
    made = hook.Addresses()
    made.root = str(tmp_path)
    metadata: dict = {}
    made.update(metadata)
    targets = re.findall(r"\]\(([^)]+)\)", metadata["readme"]["text"])
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert ("urls" in metadata) == bool(address)
    if address:
        assert set(metadata["urls"].values()) > {ADDRESS, f"{ADDRESS}/issues"}
        assert all(url.startswith(ADDRESS) for url in metadata["urls"].values())


def test_workflows_try_every_python_that_is_promised():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    promised = {
        words.rsplit(" ", 1)[1]
        for words in settings["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", words)
    }
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    tried = re.search(r"^        python: \[(.*)\]$", workflow, flags=re.M)
    assert tried is not None
    assert set(re.findall(r"[\d.]+", tried[1])) == promised
    assert settings["project"]["requires-python"] == ">=" + min(promised)


def test_the_release_s_check_of_its_tag_reads_the_version():
    import dpfda

    source = (ROOT / "src" / "dpfda" / "__init__.py").read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.*)"', source, flags=re.M) == [dpfda.__version__]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {dpfda.__version__}\n" in citation


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_forms_and_workflows_can_be_read(path):
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        # Nothing may write but where it is said.
        assert read["permissions"] == {"contents": "read"}
        scripts = [step.get("run", "") for job in read["jobs"].values() for step in job["steps"]]
        named = re.findall(r"(?<![\w/])(\.ci/\w+|docs|src/\S+\.py)\b", " ".join(scripts))
        assert [name for name in named if not (ROOT / name).exists()] == []
    elif path.name not in ("config.yml", "dependabot.yml"):
        assert {"name", "description", "body"} <= set(read)
