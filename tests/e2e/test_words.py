# SPDX-License-Identifier: MIT
"""One glossary: header and document agree, and avoided words are not used."""
import importlib.util
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parents[1] / "glossary.py"
spec = importlib.util.spec_from_file_location("glossary", PATH)
glossary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(glossary)


def test_the_document_agrees_with_the_header(case):
    assert len(glossary.words()) > 20
    assert glossary.DOCUMENT.read_text(encoding="utf-8") == glossary.rewritten(), \
        "tests/glossary.py --rewrite"


def test_no_avoided_words_are_used(case):
    if not (glossary.ROOT / ".git").exists():
        case.skip("this is no checkout")
    assert "call-site" in glossary.avoided() and "TODO" in glossary.avoided()
    wrong = glossary.uses()
    assert not wrong, "\n".join(wrong)


def test_every_document_is_in_the_list_of_documents(case):
    documents = glossary.ROOT / "doc"
    listed = (documents / "README.md").read_text(encoding="utf-8")
    missing = [path.name for path in documents.glob("*.md")
               if path.name != "README.md" and f"({path.name})" not in listed]
    assert not missing, missing


def test_links_between_documents_have_targets(case):
    wrong = []
    for path in [glossary.ROOT / "README.md", glossary.ROOT / "CONTRIBUTING.md",
                 *(glossary.ROOT / "doc").glob("*.md")]:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if not re.match(r"https?:", target) and not (path.parent / target).exists():
                wrong.append(f"{path.name}: {target}")
    assert not wrong, wrong


# Files that the HOWTOs have their reader create.
TO_BE_MADE = {"api/foo.def", "report/apis.c"}


def named_files(text):
    """Paths of our own sources in a document, outside its code blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    rooms = "|".join(sorted(path.name for path in (glossary.ROOT / "src").iterdir() if path.is_dir()))
    return {name for name in re.findall(rf"`(?:src/)?((?:{rooms})/[\w/.-]+\.(?:c|h|def))`", text)
            if "NAME" not in name and name not in TO_BE_MADE}


def test_source_files_that_documents_name_exist(case):
    wrong = [f"{path.name}: {name}" for path in [*glossary.ROOT.glob("*.md"), *(glossary.ROOT / "doc").glob("*.md")]
             if path.name != "CHANGELOG.md"
             for name in named_files(path.read_text(encoding="utf-8"))
             if not (glossary.ROOT / "src" / name).exists()]
    assert not wrong, "\n".join(wrong)


def test_the_path_of_a_leak_matches_the_architecture(case):
    """Each step names functions and files: one of those files mentions each of those functions."""
    text = (glossary.ROOT / "doc/ARCHITECTURE.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\|[^|]+\| (`[^|]+`) \| (`[^|]+`) \|$", text, re.M)
    assert len(steps) > 10, steps
    for functions, files in steps:
        there = "".join((glossary.ROOT / "src" / name).read_text(encoding="utf-8")
                        for name in re.findall(r"`([^`]+)`", files))
        for function in re.findall(r"`([^`]+)`", functions):
            # a wrapper's name is made by the preprocessor
            assert function.replace("wrap_", "") in there, f"{function} is not in {files}"


def test_every_mutation_matches_the_sources(case):
    done = case.run("python3", glossary.ROOT / "tests/mutate.py", "--check")
    assert done.status == 0, done.out


def test_the_changelog_has_the_version(case):
    """Its first version is the tool's; changes for the next one may stand above it."""
    headings = re.findall(r"^## (.*)$", (glossary.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if headings[0].startswith("Unreleased"):
        coming = re.fullmatch(r"Unreleased \((\d+\.\d+\.\d+)\)", headings.pop(0))
        assert coming and [int(n) for n in coming[1].split(".")] > [
            int(n) for n in headings[0].split(".")], headings
    assert re.fullmatch(r"\d+\.\d+\.\d+", headings[0]), headings
    assert case.gputrack("--version").out.split()[:2] == ["gputrack", headings[0]], headings
