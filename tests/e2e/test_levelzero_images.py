# SPDX-License-Identifier: MIT
"""The size of Level Zero images of every type and layout, through the door and by attach."""
import harness
from test_attach import need_root, wait_for_perf_probes_to_go

# Bits of a pixel in all planes, written from the layouts' definitions.
BITS = {
    0: 8, 1: 16, 2: 32, 3: 16, 4: 32, 5: 32, 6: 64, 7: 64, 8: 128,  # 8 … 32_32_32_32
    9: 32, 10: 32, 11: 16, 12: 16, 13: 16,  # 10_10_10_2, 11_11_10, 5_6_5, 5_5_5_1, 4_4_4_4
    14: 8, 15: 12,  # Y8, NV12
    16: 16, 17: 16, 18: 16, 19: 16, 20: 32,  # YUYV, VYUY, YVYU, UYVY, AYUV
    21: 24, 22: 32, 23: 24, 24: 16, 25: 24,  # P010, Y410, P012, Y16, P016
    26: 32, 27: 32, 28: 8, 29: 16, 30: 16, 31: 8, 32: 8,  # Y216, P216, P8, YUY2, A8P8, IA44, AI44
    33: 64, 34: 32, 35: 12, 36: 12,  # Y416, Y210, I420, YV12
    37: 8, 38: 16, 39: 16, 40: 24, 41: 24, 42: 24}  # 400P, 422H, 422V, 444P, RGBP, BRGP
# By type: rows, slices. The width of a buffer is in bytes.
SHAPES = {0: (1, 1), 1: (1, 3), 2: (64, 1), 3: (64, 3), 4: (64, 4)}
BUFFER = 5
# Chroma of 4:2:0 has every other row: one row of pixels needs a whole row of it.
HALF_HIGH = (15, 21, 23, 25, 35, 36, 39)


def pixels(kind, layout):
    """Bytes of the pixels alone, as in the table above."""
    if kind == BUFFER:
        return 64
    rows, slices = SHAPES[kind]
    size = 64 * rows * BITS[layout] // 8
    if rows == 1 and layout in HALF_HIGH:
        whole = 16 if layout in (21, 23, 25) else 8
        size = 64 * whole // 8 + 64 * (BITS[layout] - whole) // 8 * 2
    return size * slices


def made(case, way, *options):
    """[(type, layout, row pitch, slice pitch)] that the program prints, and the recorded sizes."""
    run = case.gputrack(way, "-q", "-o", f"{way}.gt", *options, case.program("ze_images"),
                        env=case.levelzero())
    assert run.status == 0, run.err
    images = [tuple(int(word) for word in line.split()) for line in run.out.splitlines()]
    sizes = [event["bytes"] for event in case.events(f"{way}.gt")
             if event["function"] == "zeImageCreate" and event["outcome"] == "done"]
    assert len(images) == len(sizes)
    return images, sizes


@harness.also_on("intel")
def test_every_type_and_layout_has_its_size(case):
    """No less than its pixels. Ours pads nothing; Intel's pitches count, and its sizes, which are
    those of an element, do not."""
    images, sizes = made(case, "run")
    # Intel's has no buffers, and not P8, Y16 and the like
    assert len(images) == (165 if case.driver == "intel" else 258), len(images)
    for (kind, layout, row, pitch), size in zip(images, sizes):
        least = pixels(kind, layout)
        assert least <= size <= 4 * least + 4096 * 4, (kind, layout, size, least)
        if kind == BUFFER:
            continue
        slices = SHAPES[kind][1]
        if pitch * slices >= least:
            assert size == pitch * slices, (kind, layout, size)
        elif case.driver == "intel":  # which has no slice pitch for volumes in planes
            assert pitch == 0 and size % row == 0, (kind, layout, row, pitch, size)
    by_pair = {image[:2]: size for image, size in zip(images, sizes)}
    assert by_pair[2, 4] == 16384  # 64 × 64 RGBA8


def test_an_image_of_memory_has_no_bytes_of_its_own(case):
    """They are counted where the program allocated them."""
    run = case.gputrack("run", "-q", "-o", "m.gt", case.program("ze_images"), "--of-memory",
                        env=case.levelzero())
    assert run.status == 0, run.err
    sizes = {e["function"]: e["bytes"] for e in case.events("m.gt") if e["effect"] == "create"}
    assert sizes == {"zeContextCreate": 0, "zeMemAllocDevice": 16384, "zeImageCreate": 0}, sizes


@harness.alone
@harness.also_on("intel")
def test_attach_knows_every_size_without_the_driver(case):
    need_root(case)
    images, sizes = made(case, "attach", "--api", "levelzero", "-c")
    wait_for_perf_probes_to_go()
    for (kind, layout, _, _), size in zip(images, sizes):
        assert size == pixels(kind, layout), (kind, layout, size)
    assert len(images) >= 165
