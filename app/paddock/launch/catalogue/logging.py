"""What the server says."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "log-disable", ("--log-disable",), Kind.FLAG, Group.LOGGING,
        Text("No log"), Text("Turns the log off. Paddock then cannot follow the load or explain a failure."),
        default="off",
    ),
    Option(
        "log-file", ("--log-file",), Kind.PATH, Group.LOGGING,
        Text("Log file"), Text("Writes the log to this file too, from its beginning."),
        env="LLAMA_ARG_LOG_FILE",
    ),
    Option(
        "log-jsonl", ("--log-jsonl",), Kind.PAIR, Group.LOGGING,
        Text("Log as JSON lines"), Text("Writes the log as one JSON object a line, on standard output."),
        negations=("--no-log-jsonl",), default="off", env="LLAMA_ARG_LOG_JSONL",
    ),
    Option(
        "log-colors", ("--log-colors",), Kind.ENUM, Group.LOGGING,
        Text("Log colours"), Text("Colours in the log. auto means on a terminal only."),
        choices=("on", "off", "auto"), default="auto", env="LLAMA_ARG_LOG_COLORS", optional_value=True,
    ),
    Option(
        "verbose", ("-v", "--verbose", "--log-verbose"), Kind.FLAG, Group.LOGGING,
        Text("Log everything"), Text("Logs all there is, for finding faults."),
        default="off",
    ),
    Option(
        "verbosity", ("-lv", "--verbosity", "--log-verbosity"), Kind.INT, Group.LOGGING,
        Text("Log level"), Text("0 output only, 1 errors, 2 warnings, 3 information, 4 more, 5 everything."),
        low=0, default="3", env="LLAMA_ARG_LOG_VERBOSITY",
    ),
    Option(
        "log-prefix", ("--log-prefix",), Kind.PAIR, Group.LOGGING,
        Text("Log prefix"), Text("Starts each line with its level."),
        negations=("--no-log-prefix",), default="on", env="LLAMA_ARG_LOG_PREFIX",
    ),
    Option(
        "log-timestamps", ("--log-timestamps",), Kind.PAIR, Group.LOGGING,
        Text("Log times"), Text("Starts each line with its time."),
        negations=("--no-log-timestamps",), default="on", env="LLAMA_ARG_LOG_TIMESTAMPS",
    ),
    Option(
        "log-prompts-dir", ("--log-prompts-dir",), Kind.FOLDER, Group.LOGGING,
        Text("Folder for prompts"), Text("Writes every prompt into this folder, for finding faults."),
    ),
)
