"""The command line on a machine without a GPU: results on stdout, exit codes, one-line errors."""
import time

import pytest


def test_help(rung):
    r = rung("--help")
    assert r.code == 0 and "ladder" in r.out
    for command in ("list", "describe", "run", "check", "ladder", "doctor", "new"):
        r = rung(command, "--help")
        assert r.code == 0, command
        assert "Usage: rung " + command in r.out


@pytest.mark.parametrize("args", [
    (), ("fly",), ("run",), ("run", "c1"), ("run", "c1", "12q"), ("run", "c1", "8", "8", "8", "8", "8"),
    ("run", "nobody", "64"), ("run", "c1", "-5"), ("ladder",), ("ladder", "sgemm", "--shapes", ""),
    ("ladder", "sgemm", "--shapes", "64,,64"), ("ladder", "sgemm", "--shapes", "64x64"),
    ("describe",), ("describe", "nobody"), ("list", "extra"), ("list", "--family", "knitting"),
    ("run", "c1", "64", "--device", "tpu"), ("run", "c1", "64", "--alpha", "much"),
    ("run", "c1", "64", "--ld", "3,3,3"), ("ladder", "c1", "--device", "cpu", "--rounds", "0"),
    ("run", "c1", "64", "--alpha", "nan"), ("run", "c1", "64", "--beta", "inf"),
    ("new",), ("new", "Bad-Name"), ("check", "nobody"), ("run", "c1", "64", "--nonsense"),
])
def test_bad_usage_exits_2_with_a_reason(rung, args):
    r = rung(*args)
    assert r.code == 2, (r.out, r.err)
    assert r.err.strip()
    assert not r.out


def test_list_json(rung):
    kernels = {(k["id"], k["target"]) for k in rung("list", "--json").json()["kernels"]}
    assert ("c0", "cpu") in kernels and ("c1", "cpu") in kernels
    only = rung("list", "--json", "--device", "cpu").json()["kernels"]
    assert only and all(k["target"] == "cpu" for k in only)


def test_list_is_quick(rung):
    rung("list")
    best = min(timed(rung) for _ in range(5))
    assert best < 1.0  # 50 ms is the goal, shown by a benchmark; this catches a driver start


def timed(rung):
    t = time.monotonic()
    assert rung("list").code == 0
    return time.monotonic() - t


def test_describe(rung):
    r = rung("describe", "c1", "64")
    assert r.code == 0
    assert "case 64x64x64" in r.out and "524288 FLOP" in r.out
    d = rung("describe", "c1", "2x3x4", "--json").json()
    assert d["case"]["flops"] == 48
    assert d["case"]["bytes"] == 4 * (2 * 4 + 4 * 3 + 2 * 3)


def test_run_times_and_verifies(rung):
    d = rung("run", "c1", "64", "3", "--json").json()
    assert d["verified"] is True and d["reps"] == 3
    assert d["ms"] > 0 and d["ms_min"] <= d["ms"]
    assert d["error"] <= d["error_allowed"]


@pytest.mark.parametrize("shape", ["0x5x3", "5x0x3", "5x7x0", "1x1x1", "33x31x65"])
@pytest.mark.parametrize("extra", [(), ("--beta", "1"), ("--alpha", "0", "--beta", "2"),
                                   ("--ld", "+3", "--offset", "1")])
@pytest.mark.parametrize("kernel", ["c0", "c1"])
def test_run_degenerate_shapes(rung, kernel, shape, extra):
    r = rung("run", kernel, shape, "1", "--device", "cpu", *extra)
    assert r.code == 0, r.err


def test_check_cpu(rung):
    d = rung("check", "c0", "c1", "--json").json()
    assert [k["kernel"] for k in d["kernels"]] == ["c0", "c1"]
    for k in d["kernels"]:
        assert k["passed"] >= 20 and k["failed"] == k["errors"] == 0
        assert 0 < k["error"] <= k["error_allowed"]


def test_ladder_rows(rung):
    d = rung("ladder", "sgemm", "--device", "cpu", "--shapes", "64,32x48x16", "--rounds", "7",
             "--slice-ms", "1", "--json").json()
    assert {r["case"] for r in d["rows"]} == {"64x64x64", "32x48x16"}
    for row in d["rows"]:
        assert row["verified"] is True and row["rounds"] == 7
        assert row["official"] is False and row["why_not"]
        assert row["ratio_lo"] <= row["ratio"] <= row["ratio_hi"]
        if row["kernel"] == "c0":
            assert row["ratio"] == 1


def test_ladder_adds_the_reference(rung):
    d = rung("ladder", "c1", "--device", "cpu", "--shapes", "16", "--rounds", "6", "--slice-ms",
             "1", "--json").json()
    assert [r["kernel"] for r in d["rows"]] == ["c0", "c1"]


def test_ladder_without_its_reference_has_no_ratio(rung):
    d = rung("ladder", "c0", "c1", "--device", "cpu", "--shapes", "16", "--rounds", "6",
             "--slice-ms", "1", "--json",
             env={"RUNG_OPENBLAS": "/nonexistent/libopenblas.so"}).json()
    rows = {r["kernel"]: r for r in d["rows"]}
    assert rows["c0"]["verified"] is False and "OpenBLAS" in rows["c0"]["why_not"]
    assert rows["c1"]["verified"] is True and rows["c1"]["ratio"] is None


def test_dry_run(rung):
    r = rung("ladder", "c1", "--device", "cpu", "--shapes", "16", "--dry-run")
    assert r.code == 0 and "c1 16x16x16 on cpu" in r.out


def test_doctor(rung):
    r = rung("doctor", "--json")
    what = {f["what"]: f for f in r.json()["findings"]}
    assert what["TF32"]["level"] == "ok"
    assert "GPU" in what and "counters" in what


def test_new_writes_a_folder(rung, tmp_path):
    r = rung("new", "fancy")
    assert r.code == 0, r.err
    assert "RUNG_PLUGIN(fancy)" in (tmp_path / "fancy/fancy.cu").read_text()
    assert (tmp_path / "fancy/include/rung/plugin.h").exists()
    assert "rung-fancy.cuda" in (tmp_path / "fancy/meson.build").read_text()
    again = rung("new", "fancy")
    assert again.code == 1 and "exists" in again.err


def test_results_that_cannot_be_written_are_no_success(rung):
    import os
    import subprocess
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([os.environ["RUNG"], "list"], stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False)
    assert done.returncode == 1 and "could not be written" in done.stderr
