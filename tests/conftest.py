"""Runs the rung under test: RUNG names the executable, RUNG_SOURCE the tree."""
import json
import os
import pathlib
import subprocess

import pytest

RUNG = os.environ.get("RUNG")
SOURCE = pathlib.Path(os.environ.get("RUNG_SOURCE", pathlib.Path(__file__).parents[1]))


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


@pytest.fixture
def rung(tmp_path):
    if not RUNG:
        pytest.skip("RUNG does not name an executable")

    def run(*args, env=None, exe=RUNG, cwd=tmp_path, timeout=300):
        full = {k: v for k, v in os.environ.items() if k != "RUNG_PLUGIN_PATH"}
        full.update(env or {})
        return Result(subprocess.run([exe, *map(str, args)], capture_output=True, text=True,
                                     env=full, cwd=cwd, timeout=timeout, check=False))

    return run


@pytest.fixture
def source():
    return SOURCE


def has_gpu():
    return pathlib.Path("/proc/driver/nvidia/version").exists()


def pytest_configure(config):
    config.rung = RUNG or ""
