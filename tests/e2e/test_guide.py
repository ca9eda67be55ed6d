# SPDX-License-Identifier: MIT
"""doc/guide.md and README.md: every command prints the output shown in the document."""
import importlib.util
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[1] / "guide.py"
spec = importlib.util.spec_from_file_location("guide", PATH)
guide = importlib.util.module_from_spec(spec)
spec.loader.exec_module(guide)


def check(case, document):
    case.pocl()
    if case.build != guide.ROOT / "build":
        case.skip("the guide's commands are for the folder build/")
    done = list(guide.check(document))
    assert done, f"{document.name} has no commands"
    wrong = [f"$ {command}\n{difference}" for command, difference in done if difference]
    assert not wrong, "\n".join(wrong) + f"\nlook, then: tests/guide.py --rewrite {document}"


def test_every_command_prints_what_the_guide_says(case):
    check(case, guide.GUIDE)


def test_the_report_in_the_readme_is_what_the_sample_prints(case):
    check(case, guide.ROOT / "README.md")


def test_a_guide_with_different_output_is_detected(case):
    document = case.path("wrong.md")
    document.write_text("```console\n$ echo right\nright\n$ echo 7 frames\n8 frames\n```\n")
    found = [command for command, difference in guide.check(document) if difference]
    assert found == ["echo 7 frames"], found
