"""What do we ask llama.cpp for?

Enters: a person's edits, a pasted line, a profile. Leaves: one `Plan`, its `Issue`s (`check`), and the `Command`
(`command`) that is shown, launched, exported and recorded. Pure: the world enters as `Conditions`.
"""

from paddock.launch.model import Addition, Command, Conditions, Issue, Plan, Setting, Severity

__all__ = ["Addition", "Command", "Conditions", "Issue", "Plan", "Setting", "Severity"]
