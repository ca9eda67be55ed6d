# SPDX-License-Identifier: MIT
"""One glossary: the header's words are the document's, and words that are not used are not used."""
import importlib.util
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parents[1] / "glossary.py"
spec = importlib.util.spec_from_file_location("glossary", PATH)
glossary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(glossary)


def test_the_document_says_what_the_header_says(case):
    assert len(glossary.words()) > 20
    assert glossary.DOCUMENT.read_text(encoding="utf-8") == glossary.rewritten(), \
        "tests/glossary.py --rewrite"


def test_no_other_words_are_used(case):
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


def test_links_between_documents_lead_somewhere(case):
    wrong = []
    for path in [glossary.ROOT / "README.md", glossary.ROOT / "CONTRIBUTING.md",
                 *(glossary.ROOT / "doc").glob("*.md")]:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if not re.match(r"https?:", target) and not (path.parent / target).exists():
                wrong.append(f"{path.name}: {target}")
    assert not wrong, wrong


def test_every_mutation_finds_its_place_in_the_sources(case):
    done = case.run("python3", glossary.ROOT / "tests/mutate.py", "--check")
    assert done.status == 0, done.out


def test_the_changelog_has_the_version(case):
    """Its first version is the tool's; above it may stand what the next one will bring."""
    headings = re.findall(r"^## (.*)$", (glossary.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if headings[0].startswith("Unreleased"):
        coming = re.fullmatch(r"Unreleased \((\d+\.\d+\.\d+)\)", headings.pop(0))
        assert coming and [int(n) for n in coming[1].split(".")] > [
            int(n) for n in headings[0].split(".")], headings
    assert re.fullmatch(r"\d+\.\d+\.\d+", headings[0]), headings
    assert case.gputrack("--version").out.split()[:2] == ["gputrack", headings[0]], headings
