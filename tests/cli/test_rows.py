"""The row families on the command line: shapes, scalars, refusals, named sets, shared ladders."""
import pytest

ROWS = {"rmsnorm": "nc1", "softmax": "sc1"}
QUICK = ("--device", "cpu", "--rounds", "6", "--slice-ms", "1")


def needs(rung, kernel):
    if kernel not in {k["id"] for k in rung("list", "--json").json()["kernels"]}:
        pytest.skip(f"this build has no {kernel}")


@pytest.mark.parametrize("family, kernel", ROWS.items())
def test_check(rung, family, kernel):
    for args in (["--family", family], [kernel]):
        d = rung("check", *args, "--device", "cpu", "--json").json()
        assert [k["kernel"] for k in d["kernels"]] == [kernel]
        k = d["kernels"][0]
        assert k["passed"] >= 20 and k["failed"] == k["errors"] == k["refused"] == 0
        assert 0 < k["error"] <= k["error_allowed"]


@pytest.mark.parametrize("kernel", ROWS.values())
@pytest.mark.parametrize("shape", [("0x5",), ("5x0",), ("1x1",), ("33", "31"), ("16x1000",)])
@pytest.mark.parametrize("extra", [(), ("--ld", "+3", "--offset", "1"), ("--ld", "1001,1004")])
def test_run(rung, kernel, shape, extra):
    r = rung("run", kernel, *shape, "2", "--device", "cpu", "--json", *extra)
    assert r.code == 0, r.err
    assert r.json()["verified"] is True and r.json()["reps"] == 2


def test_run_with_eps(rung):
    for eps in ("0", "0.5", "1e-12"):
        r = rung("run", "nc1", "16x100", "1", "--eps", eps, "--json")
        assert r.code == 0, r.err
        assert f"eps {eps}" in r.json()["case"]


@pytest.mark.parametrize("args, says", [
    (("run", "nc1", "64"), "ROWS COLS"),
    (("run", "sc1", "2", "3", "4", "5"), "ROWS COLS"),
    (("run", "sc1", "8x8", "--eps", "1"), "softmax takes no --eps"),
    (("run", "c1", "8", "--eps", "1"), "sgemm takes no --eps"),
    (("run", "nc1", "8x8", "--alpha", "2"), "rmsnorm takes no --alpha"),
    (("run", "nc1", "8x8", "--eps", "-1"), "at least 0"),
    (("run", "nc1", "8x8", "--eps", "nan"), "not a finite number"),
    (("run", "nc1", "8x8", "--ld", "8"), "one number a matrix"),
    (("run", "nc1", "8x8", "--ld", "8,8,8"), "one number a matrix"),
    (("ladder", "sgemm", "--device", "cpu", "--shapes", "nosuch"), "decode-b32"),
    (("ladder", "sgemm", "--device", "cpu", "--shapes", "main"), "for sgemm"),
    (("ladder", "rmsnorm", "sgemm", "--device", "cpu", "--shapes", "8x8"), "not 2 numbers"),
    (("check", "nc1", "c1", "--shapes", "4x5"), "one family at a time"),
    (("check", "--family", "knitting"), "no such family"),
])
def test_bad_usage(rung, args, says):
    r = rung(*args)
    assert r.code == 2, (r.out, r.err)
    assert says in r.err and not r.out


@pytest.mark.parametrize("kernel", ["n3", "n4", "s3", "s4"])
def test_long_rows_are_refused_without_a_gpu(rung, kernel):
    needs(rung, kernel)
    r = rung("run", kernel, "32", "152064")
    assert r.code == 3
    assert "refused" in r.err and "does not fit the registers" in r.err
    d = rung("describe", kernel, "32x152064", "--json").json()
    assert "16384" in d["case"]["refused"] and "16384" in d["limits"]["longest row"]


@pytest.mark.parametrize("kernel, entries, passes", [
    ("n1", 2, 2), ("n2", 1, 2), ("n3", 1, 1), ("n4", 1, 1),
    ("s1", 3, 3), ("s2", 1, 2), ("s3", 1, 1), ("s4", 1, 1),
])
def test_entries_and_ledger(rung, kernel, entries, passes):
    needs(rung, kernel)
    d = rung("describe", kernel, "64x2048", "--json").json()
    assert len(d["entries"]) == entries
    assert all(e["name"].startswith(f"{d['family']}_{kernel}") for e in d["entries"])
    assert d["case"]["ledger"]["passes"] == passes


def test_named_sets(rung):
    r = rung("ladder", "rmsnorm", "softmax", "--device", "cpu", "--shapes", "decode-b1,4x8",
             "--dry-run")
    assert r.code == 0, r.err
    assert [line.split(" on ")[0] for line in r.out.splitlines()] == [
        "nc1 1x3584", "nc1 4x8", "sc1 1x2048", "sc1 1x3584", "sc1 4x8"]
    p0 = rung("ladder", "c1", "--device", "cpu", "--shapes", "p0", "--dry-run").out
    assert [s for s in ("1024", "2048", "4096", "8192") if f"c1 {s}x{s}x{s}" not in p0] == []


def test_every_set_is_embedded_and_valid(rung, source):
    names = sorted(p.stem for p in (source / "sweeps").glob("*.shapes"))
    said = rung("ladder", "sgemm", "--device", "cpu", "--shapes", "nosuch").err
    assert sorted(said.split("there are ")[1].strip().split(", ")) == names
    for path in (source / "sweeps").glob("*.shapes"):
        for line in path.read_text().splitlines():
            if line.startswith("#") or not line:
                continue
            family, shape = line.split()
            r = rung("ladder", family, "--device", "cpu", "--shapes", path.stem, "--dry-run")
            assert r.code == 0 and shape.split("x")[0] in r.out, (path, line, r.err)


def test_one_ladder_of_several_families(rung):
    d = rung("ladder", "softmax", "nc1", *QUICK, "--shapes", "16x64", "--json").json()
    rows = [r for r in d["rows"] if not r["kernel"].startswith("copy")]
    assert [(r["family"], r["kernel"]) for r in rows] == [("softmax", "sc1"), ("rmsnorm", "nc1")]
    for row in rows:
        assert row["verified"] is True and row["case"] == "16x64" and row["ratio"] == 1
        assert row["ratio_theory"] == 1
