# SPDX-License-Identifier: MIT
"""test_completion.py - completions for gputrack, as offered by bash, zsh and fish themselves."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import time


def script(case, name):
    path = case.build / "packaging" / name
    assert path.exists(), f"{path} was not made"
    return path


def scene(case):
    """A folder with two recordings, another folder and a file."""
    for name in ("app.gt", "second run.gt", "other"):
        case.path(name).mkdir()
    case.path("app.gt/info").write_text("gputrack: 0\n")
    case.path("notes.txt").write_text("")


def tables(case):
    return json.loads(case.gputrack("describe").out)["commands"]


def needs(case, shell):
    if not shutil.which(shell):
        case.skip(f"{shell} is not installed")


# What each shell must offer: line to complete, answers that must be there, answers that must not.
def expectations(case):
    names = [command["name"] for command in tables(case)]
    yield "gputrack ", names, ["symbolize", "describe"]
    yield "gputrack help re", ["report"], ["run"]
    for command in tables(case):
        yield (f"gputrack {command['name']} --",
               ["--" + option["name"] for option in command["options"]], [])
        for option in command["options"]:
            if option["choices"]:
                yield f"gputrack {command['name']} --{option['name']} ", option["choices"], ["--help"]
    yield "gputrack report --format=j", ["json"], ["text"]
    yield "gputrack report -f ", ["json", "text", "tsv"], []
    yield "gputrack report --all-frames ap", ["app.gt"], ["notes.txt"]
    yield "gputrack report --symbols o", ["other"], ["notes.txt"]
    yield "gputrack report -o not", ["notes.txt"], []


# bash

def bash(case, line, prelude=""):
    """COMPREPLY for the line, split as readline would."""
    words = re.findall(r"=|[^\s=]+", line)
    if line.endswith((" ", "=")):
        words.append("")
    quoted = " ".join("'" + word + "'" for word in words)
    done = case.run("bash", "--norc", "-c", f"""{prelude}
        source {script(case, 'gputrack')}
        COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'
        COMP_POINT={len(line)}
        $(complete -p gputrack | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}" """)
    assert done.status == 0 and done.err == "", (line, done.err)
    return [word for word in done.out.split("\n") if word]


def test_bash_completion_follows_the_tables(case):
    needs(case, "bash")
    scene(case)
    for line, wanted, unwanted in expectations(case):
        got = bash(case, line)
        assert set(wanted) <= set(got), (line, wanted, got)
        assert not set(unwanted) & set(got), (line, unwanted, got)


def test_bash_offers_only_recordings_and_folders_where_a_recording_is_expected(case):
    needs(case, "bash")
    scene(case)
    assert sorted(bash(case, "gputrack report ")) == ["app.gt", "second run.gt"]
    assert bash(case, "gputrack report ot") == ["other"]
    assert bash(case, "gputrack doctor ") == []


def test_bash_leaves_the_arguments_of_the_program_alone(case):
    needs(case, "bash")
    scene(case)
    assert "--output" not in bash(case, "gputrack run ./app --")
    assert "notes.txt" in bash(case, "gputrack run -q ./app not")
    assert "--output" in bash(case, "gputrack run -q --")
    assert "notes.txt" in bash(case, "gputrack run -o x.gt -- ./app no")
    assert "gputrack" not in bash(case, "gputrack run --stack-depth ")


def test_bash_script_is_valid(case):
    needs(case, "bash")
    done = case.run("bash", "-n", script(case, "gputrack"))
    assert done.status == 0 and done.err == "", done.err
    # in a bash that has everything else loaded too
    framework = pathlib.Path("/usr/share/bash-completion/bash_completion")
    if framework.exists():
        scene(case)
        got = bash(case, "gputrack run ls not", prelude=f"source {framework}; COMP_TYPE=9;")
        assert got == ["notes.txt"], got


# zsh, in a terminal: there is no other way to have it complete

class Terminal:
    def __init__(self, command, folder, env):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.environ.update(env)
            os.execvp(command[0], command)

    def ask(self, keys, until, patience=20):
        """Types keys, and gives what the terminal shows until a word is there."""
        os.write(self.fd, keys.encode())
        shown, end = "", time.monotonic() + patience
        while until not in shown and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    shown += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        assert until in shown, (keys, shown)
        return shown

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def zsh(case, lines):
    """The completions zsh offers for each line, printed by its own widget."""
    folder = case.path("functions")
    folder.mkdir()
    shutil.copy(script(case, "_gputrack"), folder / "_gputrack")
    # a function in place of the built-in that takes the matches hands them on as well
    case.path("setup").write_text(f"""
        fpath=({folder} $fpath)
        autoload -Uz compinit && compinit -u -d {case.path('dump')}
        PS1= PROMPT= RPROMPT= ; unsetopt prompt_sp prompt_cr
        compadd() {{
            local -a found; local word
            builtin compadd -O found "$@"
            for word in "${{found[@]}}"; do
                print -r -- "$word" >> {case.path('offers')}
            done
            builtin compadd "$@"
        }}
        zstyle ':completion:*' menu no
        tell() {{ : >| {case.path('offers')}; zle complete-word; BUFFER=; print -r -- 'TO''LD' >> $TTY }}
        zle -C complete-word complete-word _main_complete
        zle -N tell; bindkey '^T' tell
        print REA""" + """''DY
    """)
    terminal = Terminal(["zsh", "-f", "-i"], case.folder, {"TERM": "dumb", "LC_ALL": "C.UTF-8",
                                                           "HOME": str(case.folder)})
    try:
        terminal.ask("source ./setup\n", "READY")
        for line in lines:
            terminal.ask(line + "\x14", "TOLD")
            yield line, case.path("offers").read_text().split("\n")
    finally:
        terminal.close()


def test_zsh_completion_follows_the_tables(case):
    needs(case, "zsh")
    assert case.run("zsh", "-n", script(case, "_gputrack")).status == 0
    scene(case)
    wanted = {line: (good, bad) for line, good, bad in expectations(case)}
    for line, got in zsh(case, list(wanted)):
        good, bad = wanted[line]
        # options and folders come with what is put behind them
        got = {word.rstrip("=/ ").replace("\\ ", " ") for word in got}
        assert set(good) <= got, (line, good, got)
        assert not set(bad) & got, (line, bad, got)


# fish

def test_fish_completion_follows_the_tables(case):
    needs(case, "fish")
    assert case.run("fish", "--no-config", "-n", script(case, "gputrack.fish")).status == 0
    scene(case)
    for line, wanted, unwanted in expectations(case):
        done = case.run("fish", "--no-config", "-c",
                        f"source {script(case, 'gputrack.fish')}; complete -C '{line}'",
                        env={"HOME": str(case.folder), "XDG_DATA_HOME": str(case.folder)})
        got = {row.split("\t")[0].rstrip("/") for row in done.out.splitlines()}
        got |= {word.split("=", 1)[1] for word in got if word.startswith("--") and "=" in word}
        assert set(wanted) <= got, (line, wanted, got, done.err)
        assert not set(unwanted) & got, (line, unwanted, got)
