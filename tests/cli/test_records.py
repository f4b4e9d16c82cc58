"""Records of runs: every line is a record, a kill loses at most one, comparisons hold."""
import csv
import io
import json
import signal
import subprocess
import time

import jsonschema
import pytest

QUICK = ("--device", "cpu", "--shapes", "64", "--rounds", "8", "-q")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def recorded(rung, tmp_path):
    path = tmp_path / "a.jsonl"
    r = rung("ladder", "c0", "c1", "c3", *QUICK, "--out", path, "--json")
    assert r.code == 0, r.err
    return path, r.json()


def test_every_line_follows_the_schema(recorded, source):
    schema = json.loads((source / "docs/record.schema.json").read_text())
    kinds = []
    for line in lines(recorded[0]):
        jsonschema.validate(line, schema)
        kinds.append(line["type"])
    assert kinds[0] == "run"
    assert {"verification", "slice", "summary"} <= set(kinds)
    assert not json.loads("[]") and jsonschema.Draft7Validator(schema).is_valid(
        {"type": "slice"}) is False, "a schema that accepts anything tests nothing"


def test_numbers_survive(recorded):
    path, printed = recorded
    summaries = {s["kernel"]: s for s in lines(path) if s["type"] == "summary"}
    for row in printed["rows"]:
        assert summaries[row["kernel"]]["ms"] == row["ms"]
        assert summaries[row["kernel"]]["ratio"] == row["ratio"]


def test_the_summary_is_the_median_of_its_slices(recorded):
    path, printed = recorded
    rows = lines(path)
    ratio = []
    for r in range(8):
        mine = [x for x in rows if x["type"] == "slice" and x["round"] == r]
        ref = [x["ms"] for x in mine if x["kernel"] == "c0"]
        ratio.append(sum(ref) / 2 / next(x["ms"] for x in mine if x["kernel"] == "c3"))
    ratio.sort()
    row = next(x for x in printed["rows"] if x["kernel"] == "c3")
    # Interpolation moves the reference a little off the mean of its two slices.
    assert ratio[0] * 0.98 <= row["ratio"] <= ratio[-1] * 1.02


def test_default_file_and_identity(rung, tmp_path):
    r = rung("ladder", "c1", *QUICK)
    assert r.code == 0
    files = list((tmp_path / "runs").glob("*.jsonl"))
    assert len(files) == 1
    head = lines(files[0])[0]
    for key in ("build_id", "boot_id", "git", "build_type", "argv", "seed", "tf32_override"):
        assert head[key] not in (None, ""), key
    assert head["argv"][:2] == ["rung", "ladder"]


def test_not_official_on_the_cpu(rung):
    r = rung("ladder", "c1", *QUICK, "--official")
    assert r.code == 5
    assert "not measured on a GPU" in r.err


def test_a_record_that_cannot_be_written(rung):
    assert rung("ladder", "c1", *QUICK, "--out", "/nowhere/x.jsonl").code == 1
    r = rung("ladder", "c1", *QUICK, "--out", "/dev/full")
    assert r.code == 1 and "incomplete" in r.err


def test_a_killed_run_keeps_what_it_measured(rung, tmp_path):
    import os
    path = tmp_path / "k.jsonl"
    p = subprocess.Popen([os.environ["RUNG"], "ladder", "c0", "c1", "--device", "cpu", "--shapes", "256",
                          "--rounds", "100000", "-q", "--out", path], stdout=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        if path.exists() and path.read_text().count('"slice"') > 4:
            break
    p.send_signal(signal.SIGKILL)
    p.wait()
    text = path.read_text()
    assert sum(json.loads(x)["type"] == "slice" for x in text.splitlines()[:-1]) >= 4
    path.write_text(text + '{"type":"sli')
    r = rung("compare", path, path)
    assert r.code == 1 and "no kernel and case" in r.err  # read, truncated line and all


def test_compare(rung, recorded, tmp_path):
    path, _ = recorded
    r = rung("compare", path, path, "--json")
    assert r.code == 0
    change = {x["kernel"]: x for x in r.json()["rows"]}
    assert set(change) == {"c1", "c3"} and change["c3"]["change"] == 1.0
    assert change["c3"]["verdict"] == "no difference"

    rows = lines(path)
    for x in rows:
        if x["type"] == "summary" and x["kernel"] == "c3":
            for key in ("ratio", "ratio_lo", "ratio_hi"):
                x[key] *= 0.5
            width = 0.001 * x["ratio"]
            x["ratio_lo"], x["ratio_hi"] = x["ratio"] - width, x["ratio"] + width
    slower = tmp_path / "slower.jsonl"
    slower.write_text("".join(json.dumps(x) + "\n" for x in rows))
    base = tmp_path / "base.jsonl"
    for x in rows:
        if x["type"] == "summary" and x["kernel"] == "c3":
            for key in ("ratio", "ratio_lo", "ratio_hi"):
                x[key] *= 2
    base.write_text("".join(json.dumps(x) + "\n" for x in rows))
    assert rung("compare", base, slower, "--fail-on-regression", 10).code == 7
    assert rung("compare", base, slower, "--fail-on-regression", 60).code == 0
    assert rung("compare", slower, base, "--fail-on-regression", 10).code == 0
    assert "slower" in rung("compare", base, slower).out


@pytest.mark.parametrize("content", ["", "nonsense\n", '{"type":"slice"}\n', '{"type":"run"}\n[1]\n'])
def test_compare_refuses_what_is_no_record(rung, recorded, tmp_path, content):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(content)
    r = rung("compare", recorded[0], bad)
    assert r.code == 1 and "bad.jsonl" in r.err
    assert rung("compare", recorded[0]).code == 2
    assert rung("compare", recorded[0], tmp_path / "none.jsonl").code == 1


def test_csv(rung):
    r = rung("ladder", "c0", "c3", *QUICK, "--csv")
    table = list(csv.DictReader(io.StringIO(r.out)))
    assert [x["kernel"] for x in table] == ["c0", "c3"]
    assert float(table[1]["ratio"]) > 0 and table[0]["boot_id"]


def test_null_run(rung, tmp_path):
    r = rung("ladder", "--null", "c3", "--device", "cpu", "--shapes", "128", "-q", "--json",
             "--out", tmp_path / "n.jsonl")
    row = next(x for x in r.json()["rows"] if x["kernel"] == "c3")
    assert row["type"] == "null" and row["rounds"] == 48
    assert row["ratio_lo"] <= row["ratio"] <= row["ratio_hi"] and row["floor"] >= 0
