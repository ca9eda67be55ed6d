# SPDX-License-Identifier: MIT
"""man.py TABLES.json PROSE.scd - a man page's scdoc source: our prose, with what the tables know put in.

NAME, SYNOPSIS, OPTIONS and the start of DESCRIPTION come from the tables; so does the list of commands
in gputrack(1). The prose adds to DESCRIPTION and brings the other sections.
"""
import pathlib
import re

import tables

ORDER = ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "CONFIGURATION", "ENVIRONMENT", "FILES",
         "EXIT STATUS", "CAVEATS", "EXAMPLES", "SEE ALSO"]

USUAL_STATUS = "0 on success, 1 on failure, 2 on wrong usage."


def escape(text):
    """Text that scdoc shows as it is."""
    text = re.sub(r"([\\_*])", r"\\\1", text)
    return re.sub(r"^([-#.|\[\];:`])", r"\\\1", text, flags=re.M)


def read_sections(path):
    """{title: body} of the prose."""
    sections, title, literal = {}, None, False
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        literal ^= line.startswith("```")
        if line.startswith("# ") and not literal:
            title = line[2:].strip()
            if title in sections or title not in ORDER:
                raise SystemExit(f"{path}: section {title} is there twice, or is none of {ORDER}")
            sections[title] = ""
        elif title is None and line.strip() and not line.startswith("; "):
            raise SystemExit(f"{path}: there is text before the first section")
        elif title is not None:
            sections[title] += line + "\n"
    return sections


def sentence(option):
    """The help of an option as a sentence; the name of a choice stays as it is typed."""
    text = option["help"] if option["name"] != "help" else "show these options, in short"
    if re.match(r"[\w-]+", text).group() not in option["choices"]:
        text = text[:1].upper() + text[1:]
    return escape(text) + "."


def option_lines(options):
    lines = []
    for option in options:
        argument = f"_{escape(option['argument'])}_" if option["argument"] else ""
        value = {"none": "", "needed": f" {argument}", "optional": f"[={argument}]"}[option["value"]]
        names = ", ".join(f"*{escape(form)}*" for form in reversed(tables.forms(option)))
        lines.append(f"{names}{value}\n\t{sentence(option)}\n")
    return "\n".join(lines)


def command_page(sections, command):
    name = "gputrack-" + command["name"]
    operands = f" {escape(command['operands'])}" if command["operands"] else ""
    sections["NAME"] = f"{name} - {escape(command['summary'])}\n"
    sections["SYNOPSIS"] = f"*gputrack {command['name']}* [_OPTION_…]{operands}\n"
    about = re.sub(r"\n+", "\n\n", escape(command["about"] or command["summary"]))
    sections["DESCRIPTION"] = about + "\n\n" + sections.get("DESCRIPTION", "").strip()
    sections["OPTIONS"] = option_lines(command["options"]) + "\n" + sections.get("OPTIONS", "")
    sections.setdefault("EXIT STATUS", USUAL_STATUS)
    more = sections.get("SEE ALSO", "").strip()
    sections["SEE ALSO"] = "*gputrack*(1)" + (", " + more if more else "")
    return name


def main_page(sections, commands):
    sections["COMMANDS"] = "\n".join(
        f"*{c['name']}*\n\t{escape(c['summary'][:1].upper() + c['summary'][1:])}; see "
        f"*gputrack-{c['name']}*(1).\n" for c in commands)
    pages = ", ".join(f"*gputrack-{c['name']}*(1)" for c in commands)
    more = sections.get("SEE ALSO", "").strip()
    sections["SEE ALSO"] = pages + (", " + more if more else "")
    return "gputrack"


def main():
    source, prose = tables.main_arguments("TABLES.json PROSE.scd", 2)
    known = tables.load(source)
    commands = {command["name"]: command for command in known["commands"]}
    sections, stem = read_sections(prose), pathlib.Path(prose).stem
    if stem in commands:
        name = command_page(sections, commands[stem])
    elif stem == "gputrack":
        name = main_page(sections, known["commands"])
    else:
        raise SystemExit(f"{prose}: gputrack has no command {stem}")
    print(f'{name}(1) "gputrack {known["version"]}" "gputrack\'s manual"\n')
    for title in ORDER:
        if title in sections:
            print(f"# {title}\n\n{sections[title].strip()}\n")


if __name__ == "__main__":
    main()
