# SPDX-License-Identifier: MIT
"""`gputrack run --touches` on the stand-in for CUDA's driver: work, and the memory that it names."""
import json


def touches(case, what, *options, **environment):
    """The report on a program, and the function under `allocate` of what each row is about."""
    name = case.path(what + "".join(options) + ".gt")
    run = case.gputrack("run", "-q", "-o", name, "--touches", *options, case.program("cuda_touches"), what,
                        env=case.cuda_preloaded(**environment))
    assert run.status == 0 and run.out == "done\n", run
    report = json.loads(case.gputrack("report", "-a", "touches", "-f", "json", name).out)
    places = {key: sorted(group["stack"][1]["function"] for group in report["groups"] if group[key])
              for key in ("unused_count", "unread_count", "count")}
    return report, places, run


def test_memory_that_nothing_uses_or_reads(case):
    report, places, _ = touches(case, "all")
    assert report["work"] == {"launches": 3, "copies": 3, "sets": 2, "graphs": 0, "unseen": 0, "lost": 0}, report
    assert places["unused_count"] == ["never_used"], places
    assert places["unread_count"] == ["only_copied_to", "only_set", "written_by_rows"], places
    assert len(places["count"]) == 11 and report["left_out"] == 1, (places, report)
    # what another process or a texture may use is never called unused
    for group in report["groups"]:
        if group["stack"][1]["function"] in ("shared", "bound_to_a_texture"):
            assert group["held_after_use_byte_seconds"] == 0, group


def test_unseen_work_accuses_nobody(case):
    for what in ("blind", "graph"):
        report, places, _ = touches(case, what)
        assert report["work"]["unseen"] == 1 and report["unsure"] == 1, report
        assert not places["unused_count"] and not places["unread_count"], places


def test_a_launch_with_more_pointers_than_a_record_is_one_launch(case):
    report, places, _ = touches(case, "many")
    assert report["work"]["launches"] == 1 and report["totals"]["count"] == 40, report
    assert not places["unused_count"], places


def test_the_parameters_of_unloaded_code_are_forgotten(case):
    report, places, _ = touches(case, "reload")
    assert report["work"]["launches"] == 2 and not places["unused_count"], (report, places)


def test_without_the_option_nothing_is_recorded(case):
    run = case.gputrack("run", "-q", "-o", "off.gt", case.program("cuda_touches"), "all",
                        env=case.cuda_preloaded(GPUTRACK_TOUCHES="1"))
    assert run.status == 0, run
    report = case.gputrack("report", "-a", "touches", "off.gt").out
    assert "No GPU work was recorded: record with `gputrack run --touches`" in " ".join(report.split()), report


def test_idle_memory_is_told_by_the_submission_of_work(case):
    touches(case, "all")
    idle = json.loads(case.gputrack("report", "-a", "idle", "-f", "json", "all.gt").out)
    assert idle["known"] and idle["submitted_only"] and 0 < idle["busy_ns"] < idle["duration_ns"], idle
    assert idle["idle_between_byte_seconds"] == 0 < idle["idle_after_byte_seconds"], idle
    assert "how long work ran is not recorded" in case.gputrack("report", "-a", "idle", "all.gt").out


def test_cuptis_way_says_that_it_cannot(case):
    report, _, run = touches(case, "all", "--cuda-door=cupti")
    assert "--touches has no effect with --cuda-door cupti" in run.err, run
    assert report["known"] is False and not report["groups"], report


def test_events_are_the_same_with_and_without_touches(case):
    touches(case, "all")
    case.gputrack("run", "-q", "-o", "plain.gt", case.program("cuda_touches"), "all", env=case.cuda_preloaded())
    names = [[event["function"] for event in case.events(name)] for name in ("all.gt", "plain.gt")]
    assert names[0] == names[1], names
