"""Adding a kernel is copying one file, in the tree and out of it."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
HAS_NVCC = shutil.which("nvcc") is not None


def run(*args, cwd, env=None):
    done = subprocess.run([str(a) for a in args], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, timeout=600, check=False)
    assert done.returncode == 0, f"{args}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.skipif(not HAS_NVCC, reason="nvcc is not installed")
def test_a_copied_file_is_a_kernel_in_both_link_modes_and_out_of_tree(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(SOURCE, tree, ignore=shutil.ignore_patterns("build*", ".git", ".venv", "dev"))
    options = ["-Dlink=both", "-Dtests=false", "-Dplugins=c1,mine", "-Darchs=sm_90"]
    run("meson", "setup", "build", *options, cwd=tree)
    text = (tree / "plugins/TEMPLATE.cu").read_text(encoding="utf-8")
    (tree / "plugins/sgemm/mine.cu").write_text(text.replace("mykernel", "mine"), encoding="utf-8")
    run("meson", "setup", "--reconfigure", "build", cwd=tree)
    run("ninja", "-C", "build", cwd=tree)
    for exe in ("build/rung", "build/modules/rung"):
        assert "\nmine " in run(tree / exe, "list", cwd=tmp_path)

    run(tree / "build/rung", "new", "other", cwd=tmp_path)
    run("meson", "setup", "build", cwd=tmp_path / "other")
    run("ninja", "-C", "build", cwd=tmp_path / "other")
    listed = run(tree / "build/rung", "list", cwd=tmp_path,
                 env={"RUNG_PLUGIN_PATH": str(tmp_path / "other/build")})
    assert "\nother " in listed and "other/build/rung-other.cuda.so" in listed
