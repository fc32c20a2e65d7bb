"""What do we ask llama.cpp for?

Enters: a person's edits, a pasted line, a profile. Leaves: one `Plan`, its `Issue`s (`check`), and the `Command`
(`command`) that is shown, launched, exported and recorded. Pure: the world enters as `Conditions`.

Beside these: `paddock.launch.catalogue` (every option as data), `paddock.launch.export` (other forms of a command),
`paddock.launch.additions` (what Paddock adds, by id), `parse_argv` in `paddock.launch.parsing`.
"""

from paddock.launch.checks import check
from paddock.launch.command_line import command
from paddock.launch.effective import effective
from paddock.launch.model import Addition as Addition
from paddock.launch.model import Command, Conditions, Issue, Plan, Setting, Severity
from paddock.launch.parsing import parse
from paddock.launch.parsing import parse_argv as parse_argv

__all__ = ["Command", "Conditions", "Issue", "Plan", "Setting", "Severity", "check", "command", "effective", "parse"]
