"""Planted bugs and what each build of emu says of them; the table of docs/emu.md.

RUNG names the executable; the bugs are built beside it. A cell is what must be in the output, or
None where that build does not see the bug, which is then a limit the page states.
"""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SHAPES = [["--shapes", "64,33x47x21,20x20x5"], ["--shapes", "64,33x47x21", "--ld=+3"]]

BARRIER = "a barrier that not all threads of the block reach"
MISALIGNED = "misaligned"
WRONG, RACE = "wrong elements", "data race on shared array"
# bug: plain, AddressSanitizer + UBSan, races
EXPECTED = {
    "divergent_barrier": (BARRIER, BARRIER, BARRIER),
    "global_read_past_end": ("an access out of bounds: 0 bytes past the end of operand A",) * 3,
    "global_write_past_end": ("past the end of operand C",) * 3,
    "hangs": ("without reaching a barrier or its end",) * 3,
    "inf_in_tail": ("some NaN", "an access out of bounds", "some NaN"),
    "misaligned_vector": (MISALIGNED, MISALIGNED, MISALIGNED),
    "missing_barrier": (WRONG, WRONG, RACE),
    "missing_syncwarp": (WRONG, WRONG, RACE),
    "order_of_atomics": ("the result depends on the order",) * 3,
    "shared_past_end": (None, "insufficient space", "uninitialised shared memory is read"),
    "uninitialised_shared": (None, None, "uninitialised shared memory is read: shared array bs"),
    "unwaited_copy": (WRONG, WRONG, "has not been waited for"),
    "wrong_mask": ("leaves out lane 16",) * 3,
}


@pytest.fixture(scope="module")
def build(request):
    exe = pathlib.Path(request.config.rung)
    folder = exe.parent / "tests/emu"
    if not folder.exists():
        folder = exe.parent.parent / "tests/emu"
    if not folder.exists():
        pytest.skip("this build has no emu device")
    return folder


def watching(rung):
    what = {f["what"]: f["finding"] for f in rung("doctor", "--json").json()["findings"]}["emu"]
    return 2 if "races on" in what else 1 if "to the byte" in what else 0


def check(rung, folder, bug, *shapes):
    return rung("check", bug, "--device", "emu", "-q", *shapes,
                env={"RUNG_PLUGIN_PATH": str(folder), "RUNG_EMU_TIMEOUT": "1"})


@pytest.mark.parametrize("bug", EXPECTED)
def test_the_bug_is_named(rung, build, bug):
    want = EXPECTED[bug][watching(rung)]
    results = [check(rung, build / "bugs", bug, *s) for s in SHAPES]
    if want is None:
        assert all(r.code == 0 for r in results), "seen after all: the table says it is not"
        return
    assert any(r.code not in (0, 2) and want in r.out + r.err for r in results), \
        "\n".join(r.out + r.err for r in results)


@pytest.mark.parametrize("bug", [*EXPECTED, "race_at_block_size"])
def test_the_twin_without_the_bug_passes(rung, build, bug):
    for shapes in SHAPES:
        if bug == "race_at_block_size":
            shapes = ["--shapes", "2x128x3,2x1024x3"]
        r = check(rung, build / "clean", bug, *shapes)
        assert r.code == 0, r.out + r.err


@pytest.mark.parametrize("threads", [128, 256, 512, 1024])
def test_races_are_seen_at_this_block_size(rung, build, threads):
    if watching(rung) != 2:
        pytest.skip("this build does not watch races")
    r = check(rung, build / "bugs", "race_at_block_size", "--shapes", f"2x{threads}x3")
    if RACE not in r.out:
        pytest.skip(f"races are unchecked here: a planted one in {threads} threads was not seen")


def table():
    lines = ["| bug | plain | ASan + UBSan | races |", "|---|---|---|---|"]
    for bug, cells in EXPECTED.items():
        lines.append(f"| {bug} | " + " | ".join(c or "not seen" for c in cells) + " |")
    return "\n".join(lines)


def test_the_page_has_this_table():
    assert table() in (ROOT / "docs/emu.md").read_text(encoding="utf-8"), table()
