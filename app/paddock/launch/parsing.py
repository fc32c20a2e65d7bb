"""From a pasted command line to a plan."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from paddock.launch import containers
from paddock.launch.batch import is_batch, read_batch
from paddock.launch.catalogue import CATALOGUE, Option
from paddock.launch.expanding import Variables, only_used
from paddock.launch.model import Plan, Setting
from paddock.launch.powershell import START_PROCESS, is_powershell, read_powershell
from paddock.launch.secret_reference import from_shell, is_key, shown_word
from paddock.launch.words import Word, read_words

ENGINE_VARIABLE = "PADDOCK_ENGINE"
"""Names the engine in front of a command line where a path cannot: `PADDOCK_ENGINE=name llama-server …`."""
CONTAINER_VARIABLE = "PADDOCK_CONTAINER"
"""In front of `docker run …`: the container is the plan's prefix, and paths and port are meant inside of it."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_NEGATIVE_NUMBER = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)
_PROGRAM = re.compile(r"(llama|llama[\w.-]*server[\w.-]*|llama-[\w-]+|server)(\.exe)?", re.IGNORECASE)
_SHELLS = ("sh", "bash", "zsh", "dash")
_SUBCOMMANDS = ("serve", "server")
_WRAPPERS = frozenset((
    "sudo", "doas", "numactl", "nohup", "taskset", "nice", "ionice", "chrt", "setsid", "stdbuf", "time", "timeout",
    "systemd-run", "exec", "command", "env", "prlimit", "firejail", "bwrap", "gamemoderun", "prime-run", "xvfb-run",
    "unshare", "nsenter", "strace", "ltrace", "perf", "valgrind", "gdb",
))
_PROCESS_FLAGS = frozenset(("-nonewwindow", "-wait", "-passthru", "-windowstyle", "-workingdirectory", "-verb",
                            "-redirectstandardoutput", "-redirectstandarderror"))
_SETTERS = ("export", "set", "declare")
_CHATTER = frozenset(("echo", "printf", "Write-Host", "Write-Warning", "Write-Output", "Read-Host", "clear", "exit"))
"""Statements of scripts that ask llama.cpp for nothing."""
_PROMPTS = ("$", "%", "❯", "➜")
_PROMPT = re.compile(r"\([\w.-]+\)|[\w.-]+@[\w.-]+(?::\S*)?[$#%]")
"""`(venv)` and `me@machine:~$`, which are copied along with a line."""
_SESSIONS = ("tmux", "screen", "ssh", "wsl")
"""Programs that take a whole command line as one word."""
_BOOL_WORDS = frozenset(["on", "enabled", "true", "1", "off", "disabled", "false", "0", "auto", "-1"])


def parse(text: str) -> Plan:
    """What a pasted POSIX command line asks for.

    Takes continuations, quotes, comments, assignments (`A=B prog`, `env A=B`, `export A=B;`), wrappers such as numactl
    (they become `prefix`) and redirections (kept in `extra`). A program with a slash becomes `engine`. Unknown flags
    are kept verbatim with the words that follow them. Variables that the text itself assigns are put in where it uses
    them. A JSON array of words, PowerShell and batch files are taken too (told by their first statement), and `docker
    run`, whose folders and port are turned into those outside. `parse(command(plan, engine).own) == plan` for every
    plan whose secrets are references. AppError where a quotation mark is never closed.
    """
    listed = _listed(text)
    if listed is not None:
        return parse_argv(listed)
    reader = _Line()
    read = read_powershell if is_powershell(text) else read_batch if is_batch(text) else read_words
    for statement, separator in _statements(read(text)):
        reader.statement(statement, separator)
    return reader.plan()


def parse_argv(argv: Sequence[str]) -> Plan:
    """The same for words that a shell has taken apart already; a leading program is optional."""
    reader = _Line()
    reader.statement([Word(word) for word in argv], "")
    return reader.plan()


def read_settings(words: Sequence[str]) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """Settings in order, and stray words. A known option takes its next word whatever it is, as llama.cpp does."""
    settings: list[Setting] = []
    stray: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        found = CATALOGUE.of(word)
        if found is not None and found.option.is_switch:
            settings.append(Setting(found.option.id, (), found.on))
        elif found is not None:
            taken = _values(found.option, words, at)
            at += len(taken)
            settings.append(_setting(found.option, taken))
        elif looks_like_flag(word):
            count = 0
            while at + count < len(words) and not looks_like_flag(words[at + count]):
                count += 1
            settings.append(Setting(word, tuple(words[at:at + count])))
            at += count
        else:
            stray.append(word)
    return tuple(settings), tuple(stray)


def looks_like_flag(word: str) -> bool:
    """Starts with a dash and is neither a lone dash nor a negative number."""
    return len(word) > 1 and word[0] == "-" and _NEGATIVE_NUMBER.match(word) is None


def _listed(text: str) -> list[str] | None:
    """The words of a JSON array, as `paddock command --format argv` writes it; None for any other text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, list) and all(isinstance(word, str) for word in found) else None


def _values(option: Option, words: Sequence[str], at: int) -> tuple[str, ...]:
    if option.optional_value and (at >= len(words) or not _is_optional_value(words[at])):
        return ()
    return tuple(words[at:at + option.value_count])


def _is_optional_value(word: str) -> bool:
    return word in _BOOL_WORDS or not word.startswith("-")


def _setting(option: Option, values: tuple[str, ...]) -> Setting:
    if option.optional_value and not values:
        return Setting(option.id, ("on",))
    if option.secret:
        return Setting(option.id, tuple(from_shell(value) for value in values))
    return Setting(option.id, values)


def _statements(words: Sequence[Word]) -> list[tuple[list[Word], str]]:
    """Split at `;`, `&&`, `|` and line ends; each with the operator that ends it."""
    out: list[tuple[list[Word], str]] = []
    current: list[Word] = []
    for word in words:
        if word.operator and not word.redirects:
            if current:
                out.append((current, word.text))
            current = []
        else:
            current.append(word)
    if current:
        out.append((current, ""))
    return out


@dataclass
class _Line:
    """Collects the statements of one pasted text."""

    environment: list[tuple[str, str]] = field(default_factory=list)
    prefix: tuple[str, ...] = ()
    engine: str | None = None
    settings: tuple[Setting, ...] = ()
    extra: list[str] = field(default_factory=list)
    served: bool = False
    """The server's own statement was met; what comes after is extra."""
    within: bool = False
    line_ended: bool = False
    """The last statement ended with its line: flags on the next one were meant to belong to it."""

    assigned: list[tuple[str, str]] = field(default_factory=list)
    """Of the statement that is being read."""
    variables: Variables = field(default_factory=Variables)
    exported: set[str] = field(default_factory=set)

    def plan(self) -> Plan:
        own = only_used(self.variables.texts, self.variables, self.exported)
        environment = tuple(pair for pair in self.environment if pair[0] not in own)
        return Plan(self.settings, environment, self.prefix, self.engine, tuple(self.extra))

    def statement(self, statement: list[Word], separator: str) -> None:
        if statement and self.variables.take(statement[0]):
            return
        words, redirections = _without_redirections(statement, self.variables)
        while words and (words[0] in _PROMPTS or _PROMPT.fullmatch(words[0])):
            words = words[1:]
        if words and all(word.startswith("```") for word in words):
            return
        if self.served and self.line_ended and words and looks_like_flag(words[0]):
            more, stray = read_settings(words)
            self.settings += more
            self.extra.extend(stray)
        elif self.served:
            self.extra.extend(words)
        elif words and words[0] in _SETTERS:
            self.exported.update(word.partition("=")[0] for word in words[1:])
            self.assign(words[1:])
        elif words and words[0] in _CHATTER:
            pass
        else:
            words = self.assign(words)
            if words and not self.serve(words):
                self.extra.extend(words)
        self.extra.extend(redirections)
        if not words or words[0] in _SETTERS or not self.served:
            # In front of a program an assignment is for that program alone, not for the words after it.
            self.variables.texts.update(self.assigned)
        self.assigned = []
        self.line_ended = separator == "\n"
        if self.served and separator in ("|", "||", "&&", "&"):
            self.extra.append(separator)

    def assign(self, words: list[str]) -> list[str]:
        """Takes leading assignments; gives the words after them."""
        for at, word in enumerate(words):
            match = _ASSIGNMENT.fullmatch(word)
            if match is None:
                return words[at:]
            if match[1] == ENGINE_VARIABLE:
                self.engine = match[2]
            elif match[1] == CONTAINER_VARIABLE:
                self.within = True
            else:
                value = from_shell(match[2]) if is_key(match[1]) else match[2]
                self.environment.append((match[1], value))
                self.assigned.append((match[1], match[2]))
        return []

    def serve(self, words: list[str]) -> bool:
        """Reads the statement that starts the server; False if this is another one."""
        if _base(words[0]) in _SHELLS and len(words) > 2 and words[1] in ("-c", "-lc"):
            for statement, separator in _statements(read_words(words[2])):
                self.statement(statement, separator)
            return True
        if words[0].lower() == START_PROCESS:
            words = _of_process(words) or words
        inner = next((at for at, word in enumerate(words[:4]) if _base(word) in containers.PROGRAMS), None)
        if inner is not None and (inner == 0 or _base(words[0]) in _WRAPPERS):
            self.extra.extend(words[:inner])
            return self.contained(words[inner:])
        if _base(words[0]) in _SESSIONS:
            line = next((word for word in words if re.search(r"llama\S*\s+-", word)), None)
            if line is not None:
                for statement, separator in _statements(read_words(line)):
                    self.statement(statement, separator)
                return True
        at = _program_at(words)
        if at is None:
            return False
        self.served = True
        self.prefix = self.wrapper(words[:at])
        rest = words[at:]
        if rest and not looks_like_flag(rest[0]):
            program, rest = rest[0], rest[1:]
            if "/" in program or "\\" in program:
                self.engine = program
            if rest and rest[0] in _SUBCOMMANDS:
                rest = rest[1:]
        self.settings, stray = read_settings(rest)
        self.extra.extend(stray)
        return True

    def contained(self, words: list[str]) -> bool:
        """`docker run … image -m …`: the flags behind the image are the plan, with paths and port as they are outside;
        the rest of what stands before it is only kept."""
        container = containers.read(words)
        if container is None or not any("llama" in word for word in words[:container.after]):
            return False
        self.served = True
        if self.within:
            self.prefix = tuple(words[:container.after])
            rest = words[container.after:]
            if rest and not looks_like_flag(rest[0]):
                self.engine, rest = rest[0], rest[1:]
            self.settings, stray = read_settings(rest)
            self.extra.extend(stray)
            return True
        rest = words[container.after:]
        if rest and not looks_like_flag(rest[0]) and _PROGRAM.fullmatch(_base(rest[0])):
            rest = rest[1:]
        settings, stray = read_settings(rest)
        self.extra.extend((*map(shown_word, container.kept), *stray))
        found = containers.outside(Plan(settings), container)
        self.settings = found.settings
        self.environment += [(name, from_shell(value) if is_key(name) else value)
                             for name, value in found.environment]
        return True

    def wrapper(self, words: list[str]) -> tuple[str, ...]:
        """The prefix without `env`, whose assignments join the environment."""
        if words and words[0] in ("exec", "command"):
            return self.wrapper(words[1:])  # words of the shell, no programs
        if words and words[-1] == "-m" and _base(words[0]).startswith("python"):
            return ()
        if len(words) > 1 and _base(words[0]) == "env" and not looks_like_flag(words[1]):
            return self.wrapper(self.assign(words[1:]))
        return tuple(words)


def _of_process(words: Sequence[str]) -> list[str]:
    """What `Start-Process PROGRAM -ArgumentList …` starts: words, or one text that holds them all."""
    program, arguments, taking = "", [], "program"
    for word in words[1:]:
        name = word.lower()
        if name in ("-filepath", "-argumentlist", "-args"):
            taking = "program" if name == "-filepath" else "arguments"
        elif taking == "program" and not looks_like_flag(word):
            program, taking = word, ""
        elif taking == "arguments" and name not in _PROCESS_FLAGS:
            arguments.append(word)
        else:
            taking = ""
    if len(arguments) == 1 and " " in arguments[0]:
        arguments = [word.text for word in read_words(arguments[0]) if not word.operator]
    return [program, *arguments] if program else []


def _without_redirections(statement: Sequence[Word], variables: Variables) -> tuple[list[str], list[str]]:
    words: list[str] = []
    redirections: list[str] = []
    pending = False
    for word in statement:
        if word.operator:
            redirections.append(word.text)
            pending = not re.search(r"&(\d|-)$", word.text)
        elif pending:
            redirections.append(word.text)
            pending = False
        else:
            words.extend(variables.words(word.marked))
    return words, redirections


def _base(word: str) -> str:
    return re.split(r"[/\\]", word)[-1]


def _program_at(words: Sequence[str]) -> int | None:
    """Where the server's program stands (or its first flag where there is no program); None: not a server at all."""
    if looks_like_flag(words[0]):
        return 0
    first_flag = next((at for at, word in enumerate(words) if looks_like_flag(word)), len(words))
    named = next((at for at, word in enumerate(words) if _PROGRAM.fullmatch(_base(word))), None)
    following = words[named + 1] if named is not None and named + 1 < len(words) else ""
    if named is not None and _base(words[named]) == "llama" and following not in _SUBCOMMANDS \
            and _PROGRAM.fullmatch(_base(following)):
        named += 1  # a name of a session, as in `screen -S llama llama-server`
    wrapped = _base(words[0]) in _WRAPPERS
    if named is not None and (named < first_flag or wrapped):
        return named
    start = 1 if wrapped else 0
    path = next((at for at in range(start, len(words)) if _is_program_path(words[at])), None)
    if path is not None and (path == 0 or wrapped):
        return path
    return named


def _is_program_path(word: str) -> bool:
    return ("/" in word or "\\" in word) and not looks_like_flag(word) and not _ASSIGNMENT.fullmatch(word)
