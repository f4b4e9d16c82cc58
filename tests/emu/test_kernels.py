"""The project's own kernels on emu: every edge case in the plain build, fewer where memory is
watched, which is slow."""
FEW = "64,33x31x65,129x127x33,1x300x57,300x1x20,0x9x4,5x7x0"


def test_the_cuda_kernels_pass(rung):
    shapes = [[]] if is_plain(rung) else [["--shapes", FEW], ["--shapes", "129x127x33", "--ld=+3", "--offset=1",
                                                     "--beta=2"]]
    for more in shapes:
        r = rung("check", "--family", "sgemm", "--device", "emu", "-q", "--json", *more)
        kernels = {k["kernel"]: k for k in r.json()["kernels"]}
        assert {f"k{i}" for i in range(1, 8)} <= set(kernels), r.out + r.err
        for name, k in kernels.items():
            if name == "k0":
                assert k["skipped"] and "CUDA library" in k["first"]
            else:
                assert k["passed"] and not k["failed"] + k["errors"], k
        assert r.code == 0, r.err


def is_plain(rung):
    watched = {f["what"]: f["finding"] for f in rung("doctor", "--json").json()["findings"]}["emu"]
    return "bounds to the page, no races" in watched


# Shuffles are slow where memory is watched.
FEW_ROWS = "3x31,2x1025,1x3584,0x64"
ROWS = "3x31,5x769,10x1000,2x1025,1x2049,10x3584,2x8193,1x102400,66x8,0x64,64x0"


def test_the_row_kernels_pass(rung):
    rows_of = ROWS if is_plain(rung) else FEW_ROWS
    for family, kernels in (("rmsnorm", 5), ("softmax", 5)):
        for more in (["--shapes", rows_of], ["--shapes", "5x96", "--ld=+3", "--offset=1"]):
            r = rung("check", "--family", family, "--device", "emu", "-q", "--json", *more)
            rows = r.json()["kernels"]
            assert len(rows) >= kernels and r.code == 0, r.out + r.err
            assert all(k["passed"] and not k["failed"] + k["errors"] for k in rows), rows


def test_a_row_too_long_is_refused(rung):
    r = rung("run", "s3", 32, 152064)
    assert r.code == 3 and "16384" in r.err
