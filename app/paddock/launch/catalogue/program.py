"""Options that print something and end."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "help", ("-h", "--help", "--usage"), Kind.FLAG, Group.PROGRAM,
        Text("Show usage"), Text("Prints every option that this engine knows and ends."),
    ),
    Option(
        "version", ("--version",), Kind.FLAG, Group.PROGRAM,
        Text("Show version"), Text("Prints version, build and compiler and ends."),
    ),
    Option(
        "cache-list", ("-cl", "--cache-list"), Kind.FLAG, Group.PROGRAM,
        Text("List cached models"), Text("Lists the models in llama.cpp's download cache and ends."),
    ),
    Option(
        "completion-bash", ("--completion-bash",), Kind.FLAG, Group.PROGRAM,
        Text("Shell completion"), Text("Prints a completion script for bash and ends."),
    ),
    Option(
        "list-devices", ("--list-devices",), Kind.FLAG, Group.PROGRAM,
        Text("List devices"), Text("Prints the devices that this engine sees and ends."),
    ),
)
