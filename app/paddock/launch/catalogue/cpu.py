"""Threads and the CPUs that they run on."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "threads", ("-t", "--threads"), Kind.INT, Group.CPU,
        Text("Threads"),
        Text("CPU threads that generate tokens. More than the physical cores usually slows it down."),
        low=-1, high=1024, default="-1", unit=Text("threads"), env="LLAMA_ARG_THREADS",
    ),
    Option(
        "threads-batch", ("-tb", "--threads-batch"), Kind.INT, Group.CPU,
        Text("Threads for prompts"), Text("CPU threads that process prompts and batches. All cores can help here."),
        low=-1, high=1024, unit=Text("threads"),
    ),
    Option(
        "cpu-mask", ("-C", "--cpu-mask"), Kind.TEXT, Group.CPU,
        Text("CPU mask"), Text("Hexadecimal mask of the CPUs that the threads may use."),
    ),
    Option(
        "cpu-range", ("-Cr", "--cpu-range"), Kind.TEXT, Group.CPU,
        Text("CPU range"), Text("First and last CPU that the threads may use, such as 0-7."),
    ),
    Option(
        "cpu-strict", ("--cpu-strict",), Kind.ENUM, Group.CPU,
        Text("Strict placement"), Text("1 binds each thread to one CPU of the mask."),
        choices=("0", "1"), default="0",
    ),
    Option(
        "prio", ("--prio",), Kind.INT, Group.CPU,
        Text("Priority"), Text("Scheduling priority: -1 low, 0 normal, 1 medium, 2 high, 3 realtime."),
        low=-1, high=3, default="0", strict=True,
    ),
    Option(
        "poll", ("--poll",), Kind.INT, Group.CPU,
        Text("Polling"), Text("How eagerly threads spin while they wait for work: 0 sleeps, 100 never does."),
        low=0, high=100, default="50",
    ),
    Option(
        "cpu-mask-batch", ("-Cb", "--cpu-mask-batch"), Kind.TEXT, Group.CPU,
        Text("CPU mask for prompts"),
        Text("Hexadecimal mask of the CPUs for prompt threads. Has no effect unless -tb is set."),
    ),
    Option(
        "cpu-range-batch", ("-Crb", "--cpu-range-batch"), Kind.TEXT, Group.CPU,
        Text("CPU range for prompts"),
        Text("First and last CPU for prompt threads. Has no effect unless -tb is set."),
    ),
    Option(
        "cpu-strict-batch", ("--cpu-strict-batch",), Kind.ENUM, Group.CPU,
        Text("Strict placement for prompts"),
        Text("Binds each prompt thread to one CPU. Has no effect unless -tb is set."),
        choices=("0", "1"),
    ),
    Option(
        "prio-batch", ("--prio-batch",), Kind.INT, Group.CPU,
        Text("Priority for prompts"), Text("Priority of the prompt threads. Has no effect unless -tb is set."),
        low=0, high=3, default="0", strict=True,
    ),
    Option(
        "poll-batch", ("--poll-batch",), Kind.ENUM, Group.CPU,
        Text("Polling for prompts"),
        Text("Whether prompt threads spin while they wait. Has no effect unless -tb is set."),
        choices=("0", "1"),
    ),
    Option(
        "numa", ("--numa",), Kind.ENUM, Group.CPU,
        Text("NUMA placement"),
        Text("How threads and memory are laid over the nodes of a machine with several memory banks."),
        choices=("distribute", "isolate", "numactl"), env="LLAMA_ARG_NUMA",
    ),
    Option(
        "threads-http", ("--threads-http",), Kind.INT, Group.CPU,
        Text("Threads for requests"), Text("Threads that talk HTTP. Only worth setting with very many connections."),
        low=-1, high=4096, default="-1", unit=Text("threads"), env="LLAMA_ARG_THREADS_HTTP",
    ),
)
