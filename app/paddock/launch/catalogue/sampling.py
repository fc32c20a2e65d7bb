"""How the next token is chosen unless the request says."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "samplers", ("--samplers",), Kind.TEXT, Group.SAMPLING,
        Text("Samplers"), Text("Samplers in their order, separated by semicolons."),
        default="penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
    ),
    Option(
        "seed", ("-s", "--seed"), Kind.INT, Group.SAMPLING,
        Text("Seed"), Text("Seed of the random numbers. -1 takes another one each time."),
        low=-1, high=4294967295, default="-1",
    ),
    Option(
        "sampler-seq", ("--sampler-seq", "--sampling-seq"), Kind.TEXT, Group.SAMPLING,
        Text("Samplers, short form"), Text("The order of the samplers as one letter each."),
        default="edskypmxt",
    ),
    Option(
        "ignore-eos", ("--ignore-eos",), Kind.FLAG, Group.SAMPLING,
        Text("Ignore end of text"), Text("Goes on after the model wants to stop."),
        default="off",
    ),
    Option(
        "temp", ("--temp", "--temperature"), Kind.FLOAT, Group.SAMPLING,
        Text("Temperature"),
        Text("Lower is more predictable, higher more varied. 0 always takes the likeliest token."),
        low=0, default="0.8", env="LLAMA_ARG_TEMPERATURE",
    ),
    Option(
        "top-k", ("--top-k",), Kind.INT, Group.SAMPLING,
        Text("Top k"), Text("Considers only the k likeliest tokens. 0 is off."),
        low=0, default="40", unit=Text("tokens"), env="LLAMA_ARG_TOP_K",
    ),
    Option(
        "top-p", ("--top-p",), Kind.FLOAT, Group.SAMPLING,
        Text("Top p"), Text("Considers the likeliest tokens up to this total probability. 1 is off."),
        low=0, high=1, default="0.95", env="LLAMA_ARG_TOP_P",
    ),
    Option(
        "min-p", ("--min-p",), Kind.FLOAT, Group.SAMPLING,
        Text("Min p"), Text("Drops tokens less likely than this share of the likeliest. 0 is off."),
        low=0, high=1, default="0.05", env="LLAMA_ARG_MIN_P",
    ),
    Option(
        "top-nsigma", ("--top-nsigma", "--top-n-sigma"), Kind.FLOAT, Group.SAMPLING,
        Text("Top n sigma"), Text("Keeps tokens within so many standard deviations of the best. -1 is off."),
        default="-1.0",
    ),
    Option(
        "xtc-probability", ("--xtc-probability",), Kind.FLOAT, Group.SAMPLING,
        Text("XTC probability"), Text("How often the likeliest tokens are left out. 0 is off."),
        low=0, high=1, default="0.0",
    ),
    Option(
        "xtc-threshold", ("--xtc-threshold",), Kind.FLOAT, Group.SAMPLING,
        Text("XTC threshold"), Text("From which probability on XTC leaves tokens out."),
        low=0, high=1, default="0.1",
    ),
    Option(
        "typical", ("--typical", "--typical-p"), Kind.FLOAT, Group.SAMPLING,
        Text("Typical p"), Text("Keeps tokens of about the expected information. 1 is off."),
        low=0, high=1, default="1.0",
    ),
    Option(
        "repeat-last-n", ("--repeat-last-n",), Kind.INT, Group.SAMPLING,
        Text("Repetition window"), Text("How many of the last tokens count as repeated. 0 is off."),
        low=0, default="64", unit=Text("tokens"), strict=True,
    ),
    Option(
        "repeat-penalty", ("--repeat-penalty",), Kind.FLOAT, Group.SAMPLING,
        Text("Repetition penalty"), Text("Makes repeated tokens less likely. 1 is off."),
        low=0, open_low=True, default="1.0", env="LLAMA_ARG_REPEAT_PENALTY", strict=True,
    ),
    Option(
        "presence-penalty", ("--presence-penalty",), Kind.FLOAT, Group.SAMPLING,
        Text("Presence penalty"), Text("Lowers tokens that have appeared at all. 0 is off."),
        default="0.0", env="LLAMA_ARG_PRESENCE_PENALTY",
    ),
    Option(
        "frequency-penalty", ("--frequency-penalty",), Kind.FLOAT, Group.SAMPLING,
        Text("Frequency penalty"), Text("Lowers tokens by how often they have appeared. 0 is off."),
        default="0.0", env="LLAMA_ARG_FREQUENCY_PENALTY",
    ),
    Option(
        "dry-multiplier", ("--dry-multiplier",), Kind.FLOAT, Group.SAMPLING,
        Text("DRY strength"), Text("How strongly repeated sequences are punished. 0 is off."),
        low=0, default="0.0",
    ),
    Option(
        "dry-base", ("--dry-base",), Kind.FLOAT, Group.SAMPLING,
        Text("DRY base"), Text("How fast the DRY penalty grows with the length of the repetition."),
        low=1, default="1.75",
    ),
    Option(
        "dry-allowed-length", ("--dry-allowed-length",), Kind.INT, Group.SAMPLING,
        Text("DRY allowed length"), Text("Repetitions up to this length are free."),
        low=0, default="2", unit=Text("tokens"),
    ),
    Option(
        "dry-penalty-last-n", ("--dry-penalty-last-n",), Kind.INT, Group.SAMPLING,
        Text("DRY window"), Text("How many of the last tokens DRY looks at. 0 is off."),
        low=0, default="64", unit=Text("tokens"), strict=True,
    ),
    Option(
        "dry-sequence-breaker", ("--dry-sequence-breaker",), Kind.TEXT, Group.SAMPLING,
        Text("DRY breakers"), Text("Texts that end a repetition. The first one given clears the usual ones."),
        appends=True,
    ),
    Option(
        "adaptive-target", ("--adaptive-target",), Kind.FLOAT, Group.SAMPLING,
        Text("Adaptive p target"), Text("Chooses tokens near this probability. Negative is off."),
        high=1, default="-1.0",
    ),
    Option(
        "adaptive-decay", ("--adaptive-decay",), Kind.FLOAT, Group.SAMPLING,
        Text("Adaptive p decay"), Text("How slowly the adaptive target follows."),
        low=0, high=0.99, default="0.9",
    ),
    Option(
        "dynatemp-range", ("--dynatemp-range",), Kind.FLOAT, Group.SAMPLING,
        Text("Dynamic temperature range"),
        Text("How far the temperature may move with the model's certainty. 0 is off."),
        low=0, default="0.0",
    ),
    Option(
        "dynatemp-exp", ("--dynatemp-exp",), Kind.FLOAT, Group.SAMPLING,
        Text("Dynamic temperature exponent"), Text("How the certainty becomes a temperature."),
        default="1.0",
    ),
    Option(
        "mirostat", ("--mirostat",), Kind.ENUM, Group.SAMPLING,
        Text("Mirostat"), Text("Steers the surprise of the text itself; other samplers are then ignored. 0 is off."),
        choices=("0", "1", "2"), default="0",
    ),
    Option(
        "mirostat-lr", ("--mirostat-lr",), Kind.FLOAT, Group.SAMPLING,
        Text("Mirostat rate"), Text("How fast Mirostat adapts."),
        default="0.1",
    ),
    Option(
        "mirostat-ent", ("--mirostat-ent",), Kind.FLOAT, Group.SAMPLING,
        Text("Mirostat entropy"), Text("The surprise that Mirostat aims at."),
        default="5.0",
    ),
    Option(
        "logit-bias", ("-l", "--logit-bias"), Kind.TEXT, Group.SAMPLING,
        Text("Logit bias"), Text("Makes one token likelier or less likely: TOKEN+BIAS or TOKEN-BIAS."),
        appends=True,
    ),
    Option(
        "grammar", ("--grammar",), Kind.TEXT, Group.SAMPLING,
        Text("Grammar"), Text("A grammar that every answer must follow."),
    ),
    Option(
        "grammar-file", ("--grammar-file",), Kind.PATH, Group.SAMPLING,
        Text("Grammar file"), Text("File with a grammar that every answer must follow."),
    ),
    Option(
        "json-schema", ("-j", "--json-schema"), Kind.TEXT, Group.SAMPLING,
        Text("JSON schema"), Text("A schema that every answer must follow."),
    ),
    Option(
        "json-schema-file", ("-jf", "--json-schema-file"), Kind.PATH, Group.SAMPLING,
        Text("JSON schema file"), Text("File with a schema that every answer must follow."),
    ),
    Option(
        "backend-sampling", ("-bs", "--backend-sampling"), Kind.FLAG, Group.SAMPLING,
        Text("Sample on the GPU"), Text("Samples on the device where it can. Experimental."),
        default="off", env="LLAMA_ARG_BACKEND_SAMPLING",
    ),
)
