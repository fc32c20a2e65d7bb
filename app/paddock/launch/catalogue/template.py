"""From messages to text and back."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "escape", ("-e", "--escape"), Kind.PAIR, Group.TEMPLATE,
        Text("Escapes"), Text("Reads \\n, \\t and the like in texts given as options."),
        negations=("--no-escape",), default="on",
    ),
    Option(
        "reverse-prompt", ("-r", "--reverse-prompt"), Kind.TEXT, Group.TEMPLATE,
        Text("Stop text"), Text("Ends an answer when this text appears."),
        appends=True,
    ),
    Option(
        "special", ("-sp", "--special"), Kind.FLAG, Group.TEMPLATE,
        Text("Show special tokens"), Text("Writes the model's special tokens into the answer."),
        default="off",
    ),
    Option(
        "spm-infill", ("--spm-infill",), Kind.FLAG, Group.TEMPLATE,
        Text("Suffix first"), Text("Order of the parts for infill: suffix, prefix, middle."),
        default="off",
    ),
    Option(
        "jinja", ("--jinja",), Kind.PAIR, Group.TEMPLATE,
        Text("Jinja templates"), Text("Renders the chat template with the full template engine."),
        negations=("--no-jinja",), default="on", env="LLAMA_ARG_JINJA",
    ),
    Option(
        "reasoning-format", ("--reasoning-format",), Kind.ENUM, Group.TEMPLATE,
        Text("Reasoning format"), Text("Whether thoughts are cut out of the answer, and where they go."),
        choices=("none", "auto", "deepseek", "deepseek-legacy"), default="auto", env="LLAMA_ARG_THINK",
    ),
    Option(
        "reasoning", ("-rea", "--reasoning"), Kind.ENUM, Group.TEMPLATE,
        Text("Reasoning"), Text("Whether the model may think before it answers."),
        choices=("on", "off", "auto"), default="auto", env="LLAMA_ARG_REASONING",
    ),
    Option(
        "reasoning-effort", ("--reasoning-effort",), Kind.TEXT, Group.TEMPLATE,
        Text("Reasoning effort"), Text("How hard the model should think, in words that its template knows."),
        default="default", env="LLAMA_ARG_REASONING_EFFORT",
    ),
    Option(
        "reasoning-budget", ("--reasoning-budget",), Kind.INT, Group.TEMPLATE,
        Text("Reasoning budget"), Text("Most tokens for thinking. -1 is no limit, 0 none."),
        low=-1, default="-1", unit=Text("tokens"), env="LLAMA_ARG_THINK_BUDGET", strict=True,
    ),
    Option(
        "reasoning-budget-message", ("--reasoning-budget-message",), Kind.TEXT, Group.TEMPLATE,
        Text("Budget message"), Text("Text that is put in when the thinking budget is used up."),
        env="LLAMA_ARG_THINK_BUDGET_MESSAGE",
    ),
    Option(
        "reasoning-preserve", ("--reasoning-preserve",), Kind.PAIR, Group.TEMPLATE,
        Text("Keep reasoning"), Text("Keeps earlier thoughts in the conversation."),
        negations=("--no-reasoning-preserve",), default="on", env="LLAMA_ARG_REASONING_PRESERVE",
    ),
    Option(
        "chat-template", ("--chat-template",), Kind.TEXT, Group.TEMPLATE,
        Text("Chat template"), Text("A built-in template's name or a template itself. The model's own unless set."),
        env="LLAMA_ARG_CHAT_TEMPLATE",
    ),
    Option(
        "chat-template-file", ("--chat-template-file",), Kind.PATH, Group.TEMPLATE,
        Text("Chat template file"), Text("File with a chat template."),
        env="LLAMA_ARG_CHAT_TEMPLATE_FILE",
    ),
    Option(
        "chat-template-kwargs", ("--chat-template-kwargs",), Kind.JSON, Group.TEMPLATE,
        Text("Template values"), Text("JSON object of values for the template."),
        env="LLAMA_ARG_CHAT_TEMPLATE_KWARGS",
    ),
    Option(
        "skip-chat-parsing", ("--skip-chat-parsing",), Kind.PAIR, Group.TEMPLATE,
        Text("Plain answers"), Text("Leaves the answer as the model wrote it, thoughts and tool calls included."),
        negations=("--no-skip-chat-parsing",), default="off", env="LLAMA_ARG_SKIP_CHAT_PARSING",
    ),
    Option(
        "prefill-assistant", ("--prefill-assistant",), Kind.PAIR, Group.TEMPLATE,
        Text("Continue answers"), Text("A last message of the assistant is continued instead of closed."),
        negations=("--no-prefill-assistant",), default="on", env="LLAMA_ARG_PREFILL_ASSISTANT",
    ),
)
