"""A kernel that hangs costs itself only."""
import json
import subprocess


def test_the_ladder_goes_on_without_a_kernel_that_hangs(rung, source, tmp_path):
    so = tmp_path / "rung-hang.cpu.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{source}/core/include", "-DRUNG_TARGET=cpu",
                    "-o", so, source / "tests/bad/hang.c"], check=True)
    out = tmp_path / "h.jsonl"
    r = rung("ladder", "c0", "c3", "hang", "--device", "cpu", "--shapes", "32,64", "--rounds", "8", "-q",
             "--json", "--timeout", "2", "--out", out, env={"RUNG_PLUGIN_PATH": str(tmp_path)})
    assert r.code == 1
    assert "hang" in r.err and "going on without it" in r.err
    rows = r.json()["rows"]
    by = {(x["kernel"], x["case"]): x for x in rows}
    assert len(rows) == 6
    for case in ("32x32x32", "64x64x64"):
        assert by["c3", case]["ratio"] > 0 and by["c3", case]["verified"]
        assert by["hang", case]["state"] == "failed" and "hangs" in by["hang", case]["why_not"]
    heads = [x for x in map(json.loads, out.read_text().splitlines()) if x["type"] == "run"]
    assert len(heads) == 2 and heads[1]["restarted_without"].startswith("hang: ")
