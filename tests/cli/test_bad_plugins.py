"""Every way a plugin file can be bad has its own message, and none stops the rest."""
import shutil
import subprocess

import pytest


def build(source, folder, ident="bad", flags=(), libs=()):
    out = folder / f"rung-{ident}.cpu.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", source / "core/include", f"-DIDENT={ident}",
                    *flags, "-o", out, source / "tests/bad/bad.c", *libs], check=True)
    return out


def rejected(result):
    assert result.code == 0, result.err
    return {r["origin"].rsplit("/", 1)[-1]: r for r in result.json()["rejected"]}


def test_the_good_twin_is_accepted(rung, source, tmp_path):
    build(source, tmp_path)
    r = rung("list", "--json", "--plugin-path", tmp_path)
    assert r.code == 0
    assert [k for k in r.json()["kernels"] if k["id"] == "bad" and not k["bundled"]]
    assert "rung-bad.cpu.so" not in rejected(r)


@pytest.mark.parametrize("flag, outcome, says", [
    ("BAD_ABI", "abi mismatch", "abi 2.0, this rung has 1.0"),
    ("BAD_SIZE", "abi mismatch", "descriptor of 64 bytes"),
    ("BAD_ID", "bad field", "'id'"),
    ("BAD_FAMILY", "bad field", "'family'"),
    ("BAD_LAUNCH", "bad field", "'launch'"),
    ("BAD_NEEDS", "missing capability", "0x10000000000"),
    ("BAD_SYMBOL", "no symbol", "rung_plugin_bad_cpu"),
])
def test_bad_descriptor(rung, source, tmp_path, flag, outcome, says):
    build(source, tmp_path, flags=[f"-D{flag}"])
    r = rejected(rung("list", "--json", env={"RUNG_PLUGIN_PATH": str(tmp_path)}))
    assert r["rung-bad.cpu.so"]["outcome"] == outcome
    assert says in r["rung-bad.cpu.so"]["why"]


def test_not_elf(rung, tmp_path):
    (tmp_path / "rung-text.cpu.so").write_text("not a shared object\n")
    r = rejected(rung("list", "--json", "--plugin-path", tmp_path))["rung-text.cpu.so"]
    assert r["outcome"] == "cannot open"
    assert "invalid ELF header" in r["why"] or "file too short" in r["why"]


def test_truncated(rung, source, tmp_path):
    so = build(source, tmp_path)
    so.write_bytes(so.read_bytes()[:9000])
    r = rejected(rung("list", "--json", "--plugin-path", tmp_path))["rung-bad.cpu.so"]
    assert r["outcome"] == "cannot open"
    assert "truncated" in r["why"]


def test_missing_dependency(rung, source, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "gone.c").write_text("int gone(void); int gone(void) { return 1; }\n")
    lib = tmp_path / "lib/libgone.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, tmp_path / "gone.c"], check=True)
    build(source, tmp_path, flags=["-DBAD_DEPENDENCY"], libs=["-L", lib.parent, "-lgone"])
    lib.unlink()
    r = rejected(rung("list", "--json", "--plugin-path", tmp_path))["rung-bad.cpu.so"]
    assert r["outcome"] == "cannot open"
    assert "libgone.so" in r["why"]


def test_duplicate(rung, source, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        build(source, tmp_path / name)
    r = rung("list", "--json", "--plugin-path", f"{tmp_path}/one:{tmp_path}/two")
    bad = rejected(r)["rung-bad.cpu.so"]
    assert bad["outcome"] == "duplicate"
    assert "/one/" in bad["why"] and "/two/" in bad["origin"]


def test_a_name_that_is_no_module_is_ignored(rung, source, tmp_path):
    so = build(source, tmp_path)
    shutil.copy(so, tmp_path / "librung.so")
    shutil.copy(so, tmp_path / "rung-bad.tpu.so")
    r = rung("list", "--json", "--plugin-path", tmp_path)
    assert not [x for x in r.json()["rejected"] if str(tmp_path) in x["origin"]]


def test_strict_fails_on_any(rung, source, tmp_path):
    build(source, tmp_path, flags=["-DBAD_ABI"])
    r = rung("list", "--strict", "--plugin-path", tmp_path)
    assert r.code == 1
    assert "abi mismatch" in r.err and len(r.err.splitlines()) == 1


def test_a_directory_that_does_not_exist(rung, tmp_path):
    r = rung("list", "--plugin-path", tmp_path / "nowhere")
    assert r.code == 2
    assert "nowhere" in r.err


def test_a_wrong_kernel_is_named_and_exits_4(rung, source, tmp_path):
    build(source, tmp_path)
    r = rung("run", "bad", "8", "--device", "cpu", "--plugin-path", tmp_path)
    assert r.code == 4
    assert "never written" in r.err
