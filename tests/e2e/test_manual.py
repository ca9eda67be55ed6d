# SPDX-License-Identifier: MIT
"""test_manual.py - every command has a man page, and no page names what is not there."""
import json
import re
import shutil

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[A-Za-z](?![\w-]))")


def tables(case):
    done = case.gputrack("describe")
    assert done.status == 0 and done.err == "", done.err
    commands = json.loads(done.out)["commands"]
    return {c["name"]: {f for o in c["options"] for f in forms(o)} for c in commands}


def forms(option):
    return ["--" + option["name"]] + (["-" + option["letter"]] if option["letter"] else [])


def prose(case):
    """{name: text} of doc/man, without backslashes."""
    return {path.name.split(".")[0]: path.read_text().replace("\\", "")
            for path in sorted((case.source / "doc" / "man").glob("*.scd"))}


def pages(case):
    made = sorted((case.build / "doc" / "man").glob("*.[15]"))
    if not made:
        assert not shutil.which("scdoc"), "scdoc is there, and no page was made"
        case.skip("scdoc is not installed")
    return made


def unknown_options(text, own, commands):
    """The options in a paragraph or example that no command mentioned in it has."""
    known = set(own) | {"--help", "-h", "--version", "-V"}
    for name in re.findall(r"gputrack[ -]([a-z]+)", text):
        known |= commands.get(name, set())
    return [option for option in OPTION.findall(text) if option not in known]


def test_every_command_has_a_page_and_every_page_a_command(case):
    commands, texts = tables(case), prose(case)
    missing = set(commands) - set(texts)
    assert not missing, f"doc/man has no prose for {missing}"
    # what this build has not may be a part that was left out, for which Meson makes no page
    listed = (case.source / "doc/man/meson.build").read_text()
    for name in set(texts) - {"gputrack-recording"}:
        assert f"'{name}'" in listed, f"doc/man/meson.build does not know {name}.scd"
    names = {path.name for path in pages(case)}
    assert names == {f"gputrack-{name}.1" for name in commands} | {"gputrack.1",
                                                                   "gputrack-recording.5"}, names


def test_describe_agrees_with_help(case):
    for name, options in tables(case).items():
        text = case.gputrack(name, "--help").out
        shown = set(re.findall(r"^  (?:(-\w), |    )(--[a-z-]+)", text, re.M))
        assert {form for pair in shown for form in pair if form} == options, (name, shown)
    listed = re.search(r"commands:\n(.*?)\n\n", case.gputrack("--help").out, re.S).group(1)
    assert [line.split()[0] for line in listed.splitlines()] == list(tables(case))


def test_optional_values_are_marked_as_optional(case):
    for command in json.loads(case.gputrack("describe").out)["commands"]:
        text = case.gputrack(command["name"], "--help").out
        for option in command["options"]:
            shown = re.search(rf"--{option['name']}(\[=| |$)", text, re.M).group(1)
            assert (shown == "[=") == (option["value"] == "optional"), (command["name"], option)


def test_prose_names_only_options_that_exist(case):
    commands, texts = tables(case), prose(case)
    for page, text in texts.items():
        if page not in commands and not page.startswith("gputrack"):
            continue  # of a part that was left out
        for example in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
            for line in example.splitlines():
                # what follows a pipe or -- is another program's
                ours = re.split(r"\||(?<= )-- ", line)[0]
                called = re.search(r"gputrack ([a-z]+)", ours)
                assert not called or called.group(1) in texts, (page, line)
                if called and called.group(1) != "run":
                    wrong = unknown_options(ours, (), commands)
                    assert not wrong, (page, line, wrong)
        everybody = set().union(*commands.values())
        own = commands.get(page, everybody)
        for paragraph in re.sub(r"^```\n.*?^```", "", text, flags=re.S | re.M).split("\n\n"):
            names = OPTION.findall(" ".join(re.findall(r"\*([^*\n]+)\*", paragraph)))
            wrong = [o for o in names if o in unknown_options(paragraph, own, commands)]
            # -g and -9 are other programs' options, spelled out
            wrong = [option for option in wrong if option not in ("-g",)]
            assert not wrong, (page, paragraph, wrong)
        for other, section in re.findall(r"\*([\w-]+)\*\(([1-9])\)", text):
            if other.startswith("gputrack"):
                assert other in texts or other[len("gputrack-"):] in texts, (page, other)


def test_a_wrong_option_is_detected(case):
    """The check above can fail."""
    commands = tables(case)
    assert unknown_options("gputrack report a.gt --no-such-thing", (), commands) == ["--no-such-thing"]
    assert unknown_options("gputrack doctor --sort live", (), commands) == ["--sort"]
    assert unknown_options("gputrack report --sort live", (), commands) == []


def test_every_option_is_in_its_page(case):
    commands = tables(case)
    for path in pages(case):
        name = path.stem[len("gputrack-"):]
        text = path.read_text().replace("\\-", "-").replace("\\&", "")
        for option in commands.get(name, ()):
            assert f"\\fB{option}\\fR" in text, (path.name, option)
        assert "OPTIONS" in text or name == "recording"


def test_pages_are_clean(case):
    for path in pages(case):
        if shutil.which("mandoc"):
            # scdoc's habit of opening paragraphs is what is let through
            said = case.run("mandoc", "-T", "lint", "-W", "warning", path)
            wrong = [line for line in (said.out + said.err).splitlines()
                     if "skipping paragraph macro" not in line]
            assert not wrong, wrong
        if shutil.which("man"):
            said = case.run("man", "--warnings", "-l", path, env={"MANPAGER": "cat", "MANWIDTH": "80"})
            assert said.status == 0 and said.err == "", said.err
            assert max(map(len, said.out.splitlines())) <= 80, path
    if not shutil.which("mandoc") and not shutil.which("man"):
        case.skip("neither mandoc nor man is installed")
