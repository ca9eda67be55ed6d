# SPDX-License-Identifier: MIT
"""test_ci_config.py - options: defaults of a repository, a user and the environment, which are trusted, and the command line."""
import json
import os

from test_ci import build, record


def test_a_config_file_provides_defaults(case):
    build(case, 0, "third", 5)
    record(case, "c.gt")
    case.path("gpu.supp").write_text("leak:third\n")
    case.path(".gputrackrc").write_text("# ours\nreport.format = github\n"
                                        "fail-on-leak = memory\nsuppressions = gpu.supp\n")
    # the harness switches configuration off: here it is wanted
    here = {"HOME": str(case.folder)}
    bare = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "report", "c.gt",
                    env=here)
    assert bare.status == 23 and bare.out.startswith("::error file=app.c"), (bare.out, bare.err)
    assert "suppressed 1 resource, 4.00 KiB: gpu.supp:1 leak:third" in bare.err
    # run has the same limits
    run = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "run", "-q", "-o",
                   "d.gt", "./app", env=dict(case.pocl(), **here))
    assert run.status == 23, run.err
    # the environment counts for more, the command line for most
    more = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "report", "c.gt",
                    env=dict(here, GPUTRACK_OPTIONS="report.format=tsv"))
    assert more.out.startswith("api\tkind"), more.out
    most = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "report", "c.gt",
                    "--format", "json", "--fail-on-leak=image", env=here)
    assert most.status == 0 and json.loads(most.out)["verdict"]["outcome"] == "passed"
    # what judges nothing has no use for limits, unless somebody types them
    peak = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "report", "c.gt",
                    "-a", "watermark", env=here)
    assert peak.status == 0 and "PEAK" in peak.out, (peak.out, peak.err)
    assert peak.err == "gputrack: .gputrackrc in this folder sets format = github, " \
        "fail-on-leak = memory, suppressions = gpu.supp\n", peak.err
    typed = case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", "report", "c.gt",
                     "-a", "watermark", "--fail-on-leak", env=here)
    assert typed.status == 2 and "--fail-on-leak has no effect here: it needs -a summary or " \
        "leakage" in typed.err, typed.err
    # paths are from the file's folder, whoever reads it from where
    os.mkdir(case.path("below"))
    below = case.run("sh", "-c", f"cd below && GPUTRACK_CONFIG=../.gputrackrc "
                     f"{case.build}/gputrack report ../c.gt")
    assert "suppressed 1 resource, 4.00 KiB: ../gpu.supp:1" in below.err, below.err


def test_a_config_file_of_another_user_is_ignored(case):
    if os.geteuid():
        case.skip("only root can give files away")
    build(case, 0, "third", 5)
    record(case, "c.gt")
    command = ["env", "-u", "GPUTRACK_CONFIG", f"HOME={case.folder}", case.build / "gputrack",
               "report", "c.gt", "-f", "tsv"]
    plain = case.run(*command)
    case.path(".gputrackrc").write_text("report.format = json\nreport.fail-on-leak = any\n")
    os.chown(case.path(".gputrackrc"), 12345, 12345)
    done = case.run(*command)
    assert (done.status, done.out) == (plain.status, plain.out)
    assert done.err == "gputrack: ignoring .gputrackrc, which belongs to another user; " \
        "set GPUTRACK_CONFIG=.gputrackrc to use it\n", done.err
    os.chown(case.path(".gputrackrc"), 0, 0)
    os.chmod(case.path(".gputrackrc"), 0o666)
    done = case.run(*command)
    assert done.status == 0 and "ignoring .gputrackrc, which every user can write" in done.err, done.err
    os.chmod(case.path(".gputrackrc"), 0o600)
    assert case.run(*command).status == 23


def bare(case, *words, env=None):
    """gputrack as a user starts it: the harness switches configuration files off."""
    return case.run("env", "-u", "GPUTRACK_CONFIG", case.build / "gputrack", *words,
                    env=dict({"HOME": str(case.path("home")), "XDG_CONFIG_HOME": ""}, **(env or {})))


def test_a_cloned_repository_cannot_write_files(case):
    build(case, 0, "third", 5)
    record(case, "c.gt")
    os.mkdir(case.path("home"))
    case.path("home/.bashrc").write_text("mine\n")
    for line, option in (("export.output = home/.bashrc", "output"), ("output = home/.bashrc", "output"),
                         ("run.csv = home/.bashrc", "csv"), ("run.log = home/.bashrc", "log"),
                         ("html.listen = 0.0.0.0", "listen"), ("stress.library = ./evil.so", "library"),
                         ("debuginfod = yes", "debuginfod"), ("run.with = nsys", "with"),
                         ("suppressions = home/../../x", "suppressions")):
        case.path(".gputrackrc").write_text(f"report.format = json\n{line}\n")
        for command in (["export", "c.gt"], ["report", "c.gt"], ["run", "true"]):
            done = bare(case, *command)
            assert done.status == 2 and not done.out, (line, done.out, done.err)
            assert done.err.startswith("gputrack: .gputrackrc:2: ") and len(done.err.splitlines()) == 1, done.err
            assert f"type --{option}" in done.err, done.err
    assert case.path("home/.bashrc").read_text() == "mine\n"
    # the user's own file may, and so may a file that the user names
    os.makedirs(case.path("home/.config/gputrack"))
    case.path("home/.config/gputrack/config").write_text(f"export.output = {case.folder}/own.tsv\n")
    os.remove(case.path(".gputrackrc"))
    done = bare(case, "export", "c.gt")
    assert done.status == 0 and not done.out and not done.err, (done.out, done.err)
    assert case.path("own.tsv").read_text().count("\n") > 3
    case.path(".gputrackrc").write_text("export.output = named.tsv\n")
    done = case.gputrack("export", "c.gt", env={"GPUTRACK_CONFIG": ".gputrackrc"})
    assert done.status == 0 and not done.err and case.path("named.tsv").exists(), done.err


def test_only_harmless_options_are_left_to_a_repository(case):
    """Every option that may be set there is named here: a new one needs a thought."""
    harmless = set("""after all-frames analysis api at before by color csv-more dark duration fail-on-growth fail-on-leak
        format from gpu interval json killed-is-leak max-memory max-peak max-size no-children no-held no-phases
        no-python no-stacks no-symbols own quiet running-is-leak show-held since size sort
        stack-bytes stack-depth system threshold to top until unwind value""".split())
    seen = {"no": set(), "yes": set(), "below": set()}
    for command in json.loads(case.gputrack("describe").out)["commands"]:
        for option in command["options"]:
            seen[option["local"]].add(option["name"])
    assert not seen["yes"] - harmless, seen["yes"] - harmless
    assert seen["below"] == {"suppressions", "baseline", "root"}, seen["below"]
    assert not seen["yes"] & seen["no"], "one name, one answer: " + str(seen["yes"] & seen["no"])


def test_settings_of_a_repository_are_named_once(case):
    build(case, 0, "third", 5)
    record(case, "c.gt")
    os.mkdir(case.path("home"))
    plain = case.gputrack("report", "c.gt", "-f", "tsv")
    case.path(".gputrackrc").write_text("report.format = tsv\nreport.top = 9\n")
    done = bare(case, "report", "c.gt")
    assert done.out == plain.out, done.out
    assert done.err == "gputrack: .gputrackrc in this folder sets format = tsv, top = 9\n", done.err
    done = bare(case, "report", "c.gt", "-f", "json", env={"GPUTRACK_OPTIONS": "report.top = 3"})
    assert not done.err, done.err
    case.path(".gputrackrc").write_text("run.stack-depth = 9\n")
    done = bare(case, "run", "-o", "d.gt", "true")
    assert "sets stack-depth = 9\n" in done.err, done.err
    done = bare(case, "run", "-q", "-o", "d.gt", "true")
    assert done.status == 0 and not done.err, done.err
    # a file cannot hide itself
    case.path(".gputrackrc").write_text("run.quiet = yes\n")
    done = bare(case, "run", "-o", "d.gt", "true")
    assert done.err == "gputrack: .gputrackrc in this folder sets quiet = yes\n", done.err


def test_config_shows_the_settings_and_their_source(case):
    os.mkdir(case.path("home"))
    done = bare(case, "config")
    assert done.status == 0 and done.out.startswith("No settings: ") and not done.err, done.out
    case.path(".gputrackrc").write_text("# ours\ntop = 5\nreport.format = json\n")
    variable = {"GPUTRACK_OPTIONS": "report.format = tsv; report.top=1"}
    done = bare(case, "config", env=variable)
    assert done.status == 0 and not done.err, done.err
    lines = done.out.splitlines()
    assert lines[:2] == ["top = 5", lines[1]] and lines[1].startswith("    .gputrackrc:2 in this folder; for ")
    assert "report" not in lines[1] and "diff" in lines[1], lines[1]
    assert lines[2:] == ["report.format = json", "    .gputrackrc:3 in this folder; not in force",
                         "report.format = tsv", "    GPUTRACK_OPTIONS:1; for report",
                         "report.top = 1", "    GPUTRACK_OPTIONS:2; for report"], lines
    found = json.loads(bare(case, "config", "--json", env=variable).out)
    assert (found["schema"], found["file"], found["mistake"]) == (1, ".gputrackrc", None), found
    assert found["settings"][1] == {"name": "report.format", "value": "json", "from": ".gputrackrc", "line": 3,
                                    "local": True, "commands": []}, found
    assert found["settings"][3]["commands"] == ["report"] and not found["settings"][3]["local"], found
    case.path(".gputrackrc").write_text("output = x\n")
    done = bare(case, "config", "--json")
    assert done.status == 2 and done.err.startswith("gputrack: .gputrackrc:1: "), done.err
    assert json.loads(done.out)["mistake"] == done.err[len("gputrack: "):-1], done.out


def test_the_doctor_names_the_config_in_use(case):
    case.path("rc").write_text("report.top = 3\n")
    done = case.gputrack("doctor", env={"GPUTRACK_CONFIG": "rc"})
    assert "✓ settings rc, 1 setting in all" in " ".join(done.out.split()), done.out
    case.path("rc").write_text("report.topp = 3\n")
    done = case.gputrack("doctor", env={"GPUTRACK_CONFIG": "rc"})
    assert "rc:1: unknown option 'report.topp': did you mean 'top'?" in \
        " ".join(done.out.split()), done.out
    done = case.gputrack("report", "x.gt", env={"GPUTRACK_CONFIG": "rc"})
    assert done.status == 2 and len(done.err.splitlines()) == 1, done.err


# The command line.

def test_an_option_without_effect_is_refused(case):
    """Only on the command line: a settings file serves many commands."""
    build(case, 0, "third", 2)
    assert record(case, "a.gt").status == 0
    case.path("t.csv").write_text("TimeMs,APICall,VmRSS_KB\n1,zeContextCreate,10\n")
    for command, goes in ((("report", "a.gt", "--sort", "total"), "-a sites"),
                          (("export", "a.gt", "--value", "peak"), "--format collapsed"),
                          (("plot", "a.gt", "--gpu", "0"), "-s FILE"),
                          (("plot", "a.gt", "--threshold", "50"), "a tracker's CSV"),
                          (("run", "--csv-more", "true"), "--csv FILE"),
                          (("run", "--keep-nsys", "true"), "--with nsys"),
                          (("run", "--with", "nsys", "--stack-depth", "8", "true"), "--stack-depth"),
                          (("attach", "-p", "1", "--stack-bytes", "4K"), "--unwind dwarf")):
        done = case.gputrack(*command)
        if "built without" in done.err:
            continue
        assert done.status == 2 and goes in done.err and done.out == "", (command, done.err)
        assert len(done.err.splitlines()) == 1, done.err
    assert case.gputrack("report", "a.gt", "-a", "sites", "--sort", "total").status == 0
    assert case.gputrack("plot", "a.gt", "t.csv", "--threshold", "50", "-o", "x.txt").status == 2
    assert case.gputrack("plot", "t.csv", "--threshold", "50", "-o", "x.txt").status == 0
    done = case.gputrack("report", "a.gt", env={"GPUTRACK_OPTIONS": "report.sort=total"})
    assert done.status == 0, done.err


def test_several_analyses_are_printed_in_order(case):
    build(case, 0, "third", 2)
    assert record(case, "a.gt").status == 0
    one = [case.gputrack("report", "a.gt", "-a", name).out for name in ("watermark", "usage", "leakage")]
    assert case.gputrack("report", "a.gt", "-a", "watermark,usage,leakage").out == "\n".join(one)
    done = case.gputrack("report", "a.gt", "-a", "watermark,usage", "-f", "json")
    assert done.status == 2 and "takes one analysis" in done.err, done.err
    done = case.gputrack("report", "a.gt", "-a", "leakage,usage", "--fail-on-leak")
    assert done.status == 2, done.err
    done = case.gputrack("report", "a.gt", "-a", "leakage,usge")
    assert done.status == 2 and "did you mean 'usage'" in done.err, done.err
