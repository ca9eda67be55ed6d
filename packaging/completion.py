# SPDX-License-Identifier: MIT
"""completion.py bash|zsh|fish TABLES.json - a shell's completion of gputrack, made from its tables."""
import re

import tables


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


# bash: three functions with the tables in them, and one that uses them.

BASH = """# Completion of gputrack for bash; made from its option tables.

# What may follow an option: nothing printed when it takes no value of its own.
_gputrack_value() {
	case $1:$2 in
@VALUES@
	esac
}

_gputrack_options() {
	case $1 in
@OPTIONS@
	esac
}

_gputrack_operand() {
	case $1 in
@OPERANDS@
	esac
}

_gputrack_fill() {
	local IFS=$'\\n'
	case $1 in
	recording | folder)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -d -- "$2"))
		# once a recording begins so, other folders are not meant
		[ "$1" = folder ] || [[ " ${COMPREPLY[*]}" != *.gt* ]] ||
			COMPREPLY=($(compgen -d -X '!*.gt' -- "$2"))
		;;
	file)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$2"))
		;;
	program)
		COMPREPLY=($(compgen -c -- "$2"))
		[[ $2 != */* ]] || {
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$2"))
		}
		;;
	process) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | compgen -W "$(cat)" -- "$2")) ;;
	choice\\ *) IFS=' ' COMPREPLY=($(compgen -W "${1#choice }" -- "$2")) ;;
	esac
}

_gputrack() {
	local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} option= value= i
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_gputrack_fill 'choice @COMMANDS@ help --help --version' "$current"
		return
	fi
	if [ "$command" = help ]; then
		_gputrack_fill 'choice @COMMANDS@' "$current"
		return
	fi
	# --option=value comes as three words
	[ "$current" = = ] && current=
	i=2
	while [ "$i" -lt "$COMP_CWORD" ]; do
		option=${COMP_WORDS[i]}
		value=$(_gputrack_value "$command" "$option")
		if [ "${COMP_WORDS[i + 1]}" = = ]; then
			i=$((i + 1))
			[ -n "$value" ] || value=word
		elif [[ $option = -?* && $option != -- ]]; then
			[ -n "$value" ] || { i=$((i + 1)); continue; }
		else
			# an operand; what follows a program's name is that program's
			[ "$option" = -- ] && [ "$((i + 1))" -lt "$COMP_CWORD" ] && i=$((i + 1))
			if [ "${COMP_WORDS[i]}" != -- ] &&
				[ "$(_gputrack_operand "$command")" = program ]; then
				if declare -F _command_offset >/dev/null; then
					_command_offset "$i"
				else
					_gputrack_fill file "$current"
				fi
				return
			fi
			i=$((i + 1))
			continue
		fi
		if [ "$((i + 1))" -ge "$COMP_CWORD" ]; then
			_gputrack_fill "$value" "$current"
			return
		fi
		i=$((i + 2))
	done
	if [[ $current = -* ]]; then
		_gputrack_fill "choice $(_gputrack_options "$command")" "$current"
	else
		_gputrack_fill "$(_gputrack_operand "$command")" "$current"
	fi
}

complete -F _gputrack gputrack
"""


def bash(known):
    values, options, operands = [], [], []
    for command in known["commands"]:
        name = command["name"]
        for option in command["options"]:
            if option["value"] != "needed":
                continue
            what = "choice " + " ".join(option["choices"]) if option["choices"] else \
                tables.kind(option["argument"])
            values.append("\t" + " | ".join(f"{name}:{form}" for form in tables.forms(option))
                          + f") echo {quote(what)} ;;")
        forms = [form for option in command["options"] for form in tables.forms(option)]
        options.append(f"\t{name}) echo {quote(' '.join(forms))} ;;")
        if tables.operand(command):
            operands.append(f"\t{name}) echo {tables.operand(command)} ;;")
    return (BASH.replace("@VALUES@", "\n".join(values)).replace("@OPTIONS@", "\n".join(options))
            .replace("@OPERANDS@", "\n".join(operands))
            .replace("@COMMANDS@", " ".join(c["name"] for c in known["commands"])))


# zsh: one _arguments for each command.

ZSH = """#compdef gputrack
# Completion of gputrack for zsh; made from its option tables.

_gputrack_recordings() {
	_path_files -/ -g '*.gt(-/)'
}

_gputrack() {
	local curcontext="$curcontext" state line ret=1
	local -a commands
	commands=(
@COMMANDS@
	)

	_arguments -C \\
		'(- *)'{-h,--help}'[show the commands]' \\
		'(- *)'{-V,--version}'[show the version]' \\
		'1:command:->command' \\
		'*::argument:->argument' && ret=0
	case $state in
	command)
		_describe -t commands command commands && ret=0
		;;
	argument)
		case $words[1] in
		help)
			_describe -t commands command commands && ret=0
			;;
@CASES@
		esac
		;;
	esac
	return ret
}

_gputrack "$@"
"""

ZSH_KINDS = {"recording": "_gputrack_recordings", "folder": "_files -/", "file": "_files",
             "program": "_command_names -e", "process": "_pids", "word": " "}


def zsh_escape(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_option(option):
    forms, text = tables.forms(option), zsh_escape(tables.brief(option))
    action = ""
    if option["value"] != "none":
        how = f"({' '.join(option['choices'])})" if option["choices"] else \
            ZSH_KINDS[tables.kind(option["argument"])]
        action = f":{zsh_escape(option['argument'])}:{how}"
    others = "*" if option["repeats"] else f"({' '.join(forms)})"
    if option["name"] == "help":
        others = "(- *)"
    ends = {"none": ("", ""), "needed": ("=", "+"), "optional": ("=-", "")}[option["value"]]
    names = ["--" + option["name"] + ends[0]]
    if option["letter"]:
        names.append("-" + option["letter"] + ends[1])
    return [f"{quote(others + name + '[' + text + ']' + action)}" for name in names]


def zsh_case(command):
    lines = [line for option in command["options"] for line in zsh_option(option)]
    what = tables.operand(command)
    if what == "program":
        lines += ["'(-)1:program:_command_names -e'", "'*::argument:_normal'"]
    elif what:
        lines.append(quote(f"*:{zsh_escape(command['operands'])}:{ZSH_KINDS[what]}"))
    body = " \\\n\t\t\t\t".join(lines)
    return f"\t\t{command['name']})\n\t\t\t_arguments -s -S \\\n\t\t\t\t{body} && ret=0\n\t\t\t;;"


def zsh(known):
    commands = "\n".join("\t\t" + quote(f"{c['name']}:{zsh_escape(c['summary'])}")
                         for c in known["commands"])
    return ZSH.replace("@COMMANDS@", commands).replace(
        "@CASES@", "\n".join(zsh_case(c) for c in known["commands"]))


# fish: a line for each option.

FISH = """# Completion of gputrack for fish; made from its option tables.

function __gputrack_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end

function __gputrack_recordings
    set -l token (commandline -ct)
    for path in $token*.gt/
        printf '%s\\trecording\\n' $path
    end
    __fish_complete_directories "$token"
end

complete -c gputrack -f
complete -c gputrack -n __fish_use_subcommand -s h -l help -d 'show the commands'
complete -c gputrack -n __fish_use_subcommand -s V -l version -d 'show the version'
complete -c gputrack -n '__gputrack_is help' -a '@COMMANDS@'
"""

FISH_KINDS = {"recording": "-x -a '(__gputrack_recordings)'", "folder": "-x -a '(__fish_complete_directories)'",
              "file": "-r -F", "program": "-x -a '(__fish_complete_command)'",
              "process": "-x -a '(__fish_complete_pids)'", "word": "-x"}


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(known):
    lines = [FISH.replace("@COMMANDS@", " ".join(c["name"] for c in known["commands"]))]
    for command in known["commands"]:
        name = command["name"]
        lines.append(f"complete -c gputrack -n __fish_use_subcommand -a {name} "
                     f"-d {fish_quote(command['summary'])}")
        here = f"complete -c gputrack -n '__gputrack_is {name}'"
        for option in command["options"]:
            letter = f" -s {option['letter']}" if option["letter"] else ""
            value = ""
            if option["value"] == "needed":
                value = " -x -a " + fish_quote(" ".join(option["choices"])) if option["choices"] else \
                    " " + FISH_KINDS[tables.kind(option["argument"])]
            lines.append(f"{here} -l {option['name']}{letter}{value} "
                         f"-d {fish_quote(tables.brief(option))}")
        what = tables.operand(command)
        if what == "program":
            lines.append(f"{here} -x -a '(__fish_complete_subcommand --fcs-skip=2)'")
        elif what == "file":
            lines.append(f"{here} -F")
        elif what and what != "word":
            lines.append(f"{here} {FISH_KINDS[what].replace('-x ', '')}")
        lines.append("")
    return "\n".join(lines)


def main():
    shell, source = tables.main_arguments("bash|zsh|fish TABLES.json", 2)
    print({"bash": bash, "zsh": zsh, "fish": fish}[shell](tables.load(source)).rstrip("\n"))


if __name__ == "__main__":
    main()
