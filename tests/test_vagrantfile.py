"""The Vagrantfile: Vagrant finds nothing to say about it, its scripts are shell, and the README tells the same.

That a machine comes up and measures what its host measures takes long: ``tests/vagrant/up.sh`` sees to it.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
VAGRANTFILE = ROOT / "Vagrantfile"
PROVIDERS = ("libvirt", "virtualbox")
# Vagrant looks at a provider's settings only where that provider is; asking for its version is how it looks.
VIRTUALBOX = '#!/bin/sh\n[ "$1" != --version ] || echo 7.0.14r161095\n'


def provisioners() -> list[str]:
    """Return the scripts that the machine runs once, in order."""
    return [
        dedent(script) for script in re.findall(r"<<~'SHELL'\n(.*?)^ *SHELL$", VAGRANTFILE.read_text(), re.M | re.S)
    ]


def command() -> str:
    """Return the script that becomes the machine's command ``rocelab``."""
    found = re.search(r"^cat >/usr/local/bin/rocelab <<'END'\n(.*?)^END$", provisioners()[0], re.M | re.S)
    assert found
    return found[1]


@pytest.mark.parametrize("script", [*provisioners(), command()], ids=["as root", "as user", "rocelab"])
def test_scripts_are_shell(script: str) -> None:
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "--shell=sh", "-"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout


def test_the_command_is_the_projects_from_everywhere(tmp_path: Path) -> None:
    stub = tmp_path / "rocelab"
    stub.write_text('#!/bin/sh\necho "$PWD $ROCELAB_VENV $# $2"\n')
    stub.chmod(0o755)
    script = command().replace("/vagrant", str(tmp_path))
    done = subprocess.run(["sh", "-c", script, "rocelab", "run", "a b"], cwd="/", capture_output=True, text=True)
    assert done.stdout == f"{tmp_path} /opt/rocelab/venv 2 a b\n"


def test_something_else_than_the_doctor_comes_first() -> None:
    """The doctor only names the Debian packages that are missing; every other command installs them."""
    calls = re.findall(r"^rocelab (\w+)", provisioners()[1], re.M)
    assert calls[0] != "doctor"
    assert calls[-1] == "doctor"


def test_the_readme_tells_the_same() -> None:
    shown = [line.strip() for line in (ROOT / "README.md").read_text().splitlines()]
    said = re.findall(r"^#     (vagrant .*)$", VAGRANTFILE.read_text(), re.M)
    assert said == [line for line in shown if line.startswith("vagrant ")]
    (scenario,) = re.findall(r"rocelab run (\S+\.yaml)", "\n".join(said))
    assert (ROOT / scenario).exists()


def test_every_setting_is_explained() -> None:
    text = VAGRANTFILE.read_text()
    comments = "\n".join(re.findall(r"^#.*$", text, re.M))
    for name in re.findall(r'ENV\.fetch\("(\w+)"', text):
        assert name in comments


# --- with Vagrant -----------------------------------------------------------------------------------------------------


def validate(text: str, provider: str, place: Path) -> "subprocess.CompletedProcess[str]":
    """Have Vagrant look at a Vagrantfile, `text`, with nothing of this user's Vagrant in reach."""
    vagrant = shutil.which("vagrant")
    if not vagrant:
        pytest.skip("vagrant is not installed")
    (place / "Vagrantfile").write_text(text)
    (place / "VBoxManage").write_text(VIRTUALBOX)
    (place / "VBoxManage").chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("VAGRANT_", "ROCELAB_"))},
        "PATH": f"{place}:{os.environ['PATH']}",
        "HOME": str(place),
        "VAGRANT_HOME": str(place / "home"),
        "VAGRANT_DEFAULT_PROVIDER": provider,
        "VAGRANT_CHECKPOINT_DISABLE": "1",
    }
    done = subprocess.run(
        [vagrant, "validate", "--no-color"], cwd=place, env=environment, capture_output=True, text=True, timeout=120
    )
    if f"provider '{provider}'" in done.stderr and "could not be found" in done.stderr:
        pytest.skip(f"vagrant has no provider {provider}")
    return done


@pytest.mark.parametrize("provider", PROVIDERS)
def test_vagrant_finds_nothing_wrong(provider: str, tmp_path: Path) -> None:
    done = validate(VAGRANTFILE.read_text(), provider, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("provider", PROVIDERS)
def test_vagrant_finds_a_setting_misspelt(provider: str, tmp_path: Path) -> None:
    before, block, after = VAGRANTFILE.read_text().partition(f'config.vm.provider "{provider}"')
    done = validate(before + block + after.replace("machine.cpus", "machine.cpsu", 1), provider, tmp_path)
    assert done.returncode != 0
    assert "cpsu" in done.stdout + done.stderr
