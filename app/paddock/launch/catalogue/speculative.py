"""Guessing tokens ahead."""

from paddock.launch.catalogue.option import KV_TYPES, Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "lookup-cache-static", ("-lcs", "--lookup-cache-static"), Kind.PATH, Group.SPECULATIVE,
        Text("Lookup cache, static"), Text("File of n-grams for ngram-cache that generation does not change."),
    ),
    Option(
        "lookup-cache-dynamic", ("-lcd", "--lookup-cache-dynamic"), Kind.PATH, Group.SPECULATIVE,
        Text("Lookup cache, dynamic"), Text("File of n-grams for ngram-cache that generation adds to."),
    ),
    Option(
        "spec-draft-type-k", ("-ctkd", "--spec-draft-type-k", "--cache-type-k-draft"), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft cache type for K"), Text("Number format of the keys in the draft's cache."),
        choices=KV_TYPES, default="f16", env="LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K",
    ),
    Option(
        "spec-draft-type-v", ("-ctvd", "--spec-draft-type-v", "--cache-type-v-draft"), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft cache type for V"), Text("Number format of the values in the draft's cache."),
        choices=KV_TYPES, default="f16", env="LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V",
    ),
    Option(
        "spec-draft-hf", ("-hfd", "-hfrd", "--spec-draft-hf", "--hf-repo-draft"), Kind.TEXT, Group.SPECULATIVE,
        Text("Draft repository"), Text("Downloads the draft model from this Hugging Face repository."),
        env="LLAMA_ARG_SPEC_DRAFT_HF_REPO",
    ),
    Option(
        "spec-draft-threads", ("-td", "--spec-draft-threads", "--threads-draft"), Kind.INT, Group.SPECULATIVE,
        Text("Draft threads"), Text("CPU threads of the draft model."),
        low=-1, high=1024, unit=Text("threads"),
    ),
    Option(
        "spec-draft-threads-batch", ("-tbd", "--spec-draft-threads-batch", "--threads-batch-draft"),
        Kind.INT, Group.SPECULATIVE,
        Text("Draft threads for prompts"), Text("CPU threads with which the draft processes prompts."),
        low=-1, high=1024, unit=Text("threads"),
    ),
    Option(
        "spec-draft-cpu-mask", ("-Cd", "--spec-draft-cpu-mask", "--cpu-mask-draft"), Kind.TEXT, Group.SPECULATIVE,
        Text("Draft CPU mask"), Text("Hexadecimal mask of the draft's CPUs. Has no effect unless -td is set."),
    ),
    Option(
        "spec-draft-cpu-range", ("-Crd", "--spec-draft-cpu-range", "--cpu-range-draft"), Kind.TEXT, Group.SPECULATIVE,
        Text("Draft CPU range"), Text("First and last CPU of the draft. Has no effect unless -td is set."),
    ),
    Option(
        "spec-draft-cpu-strict", ("--spec-draft-cpu-strict", "--cpu-strict-draft"), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft strict placement"), Text("Binds each draft thread to one CPU. Has no effect unless -td is set."),
        choices=("0", "1"),
    ),
    Option(
        "spec-draft-prio", ("--spec-draft-prio", "--prio-draft"), Kind.INT, Group.SPECULATIVE,
        Text("Draft priority"), Text("Priority of the draft's threads. Has no effect unless -td is set."),
        low=0, high=3, default="0", strict=True,
    ),
    Option(
        "spec-draft-poll", ("--spec-draft-poll", "--poll-draft"), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft polling"), Text("Whether draft threads spin while they wait. Has no effect unless -td is set."),
        choices=("0", "1"),
    ),
    Option(
        "spec-draft-cpu-mask-batch", ("-Cbd", "--spec-draft-cpu-mask-batch", "--cpu-mask-batch-draft"),
        Kind.TEXT, Group.SPECULATIVE,
        Text("Draft CPU mask for prompts"),
        Text("Hexadecimal mask of the draft's CPUs for prompts. Has no effect unless -tbd is set."),
    ),
    Option(
        "spec-draft-cpu-strict-batch", ("--spec-draft-cpu-strict-batch", "--cpu-strict-batch-draft"),
        Kind.ENUM, Group.SPECULATIVE,
        Text("Draft strict placement for prompts"),
        Text("Binds each draft prompt thread to one CPU. Has no effect unless -tbd is set."),
        choices=("0", "1"),
    ),
    Option(
        "spec-draft-prio-batch", ("--spec-draft-prio-batch", "--prio-batch-draft"), Kind.INT, Group.SPECULATIVE,
        Text("Draft priority for prompts"),
        Text("Priority of the draft's prompt threads. Has no effect unless -tbd is set."),
        low=0, high=3, default="0", strict=True,
    ),
    Option(
        "spec-draft-poll-batch", ("--spec-draft-poll-batch", "--poll-batch-draft"), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft polling for prompts"),
        Text("Whether draft prompt threads spin while they wait. Has no effect unless -tbd is set."),
        choices=("0", "1"),
    ),
    Option(
        "spec-draft-override-tensor", ("-otd", "--spec-draft-override-tensor", "--override-tensor-draft"),
        Kind.LIST, Group.SPECULATIVE,
        Text("Draft tensor placement"), Text("Patterns of the draft's tensor names and the buffer each goes to."),
        appends=True,
    ),
    Option(
        "spec-draft-cpu-moe", ("-cmoed", "--spec-draft-cpu-moe", "--cpu-moe-draft"), Kind.FLAG, Group.SPECULATIVE,
        Text("All draft experts on the CPU"), Text("Keeps all experts of the draft in RAM."),
        default="off", env="LLAMA_ARG_SPEC_DRAFT_CPU_MOE",
    ),
    Option(
        "spec-draft-n-cpu-moe", ("-ncmoed", "--spec-draft-n-cpu-moe", "--spec-draft-ncmoe", "--n-cpu-moe-draft"),
        Kind.INT, Group.SPECULATIVE,
        Text("Draft experts on the CPU"), Text("Keeps the experts of the draft's first layers in RAM."),
        low=0, unit=Text("layers"), env="LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE", strict=True,
    ),
    Option(
        "spec-draft-n-max", ("--spec-draft-n-max",), Kind.INT, Group.SPECULATIVE,
        Text("Most draft tokens"), Text("Tokens that are drafted ahead at most."),
        low=0, default="3", unit=Text("tokens"), env="LLAMA_ARG_SPEC_DRAFT_N_MAX", strict=True,
    ),
    Option(
        "spec-draft-n-min", ("--spec-draft-n-min",), Kind.INT, Group.SPECULATIVE,
        Text("Fewest draft tokens"), Text("Shorter drafts are not used."),
        low=0, default="0", unit=Text("tokens"), env="LLAMA_ARG_SPEC_DRAFT_N_MIN",
    ),
    Option(
        "spec-synth-len", ("--spec-synth-len",), Kind.FLOAT, Group.SPECULATIVE,
        Text("Synthetic acceptance length"),
        Text("For benchmarks only: pretends that so many tokens are accepted on average."),
        low=1, unit=Text("tokens"), env="LLAMA_ARG_SPEC_SYNTH_LEN", strict=True,
    ),
    Option(
        "spec-synth-rates", ("--spec-synth-rates",), Kind.LIST, Group.SPECULATIVE,
        Text("Synthetic acceptance rates"),
        Text("For benchmarks only: pretends these acceptance rates, one a position."),
        env="LLAMA_ARG_SPEC_SYNTH_RATES",
    ),
    Option(
        "spec-draft-p-split", ("--spec-draft-p-split", "--draft-p-split"), Kind.FLOAT, Group.SPECULATIVE,
        Text("Draft split probability"), Text("Probability above which the draft branches."),
        low=0, high=1, default="0.1", env="LLAMA_ARG_SPEC_DRAFT_P_SPLIT",
    ),
    Option(
        "spec-draft-p-min", ("--spec-draft-p-min", "--draft-p-min"), Kind.FLOAT, Group.SPECULATIVE,
        Text("Least draft probability"), Text("Drafting stops at a token less likely than this."),
        low=0, high=1, default="0.0", env="LLAMA_ARG_SPEC_DRAFT_P_MIN",
    ),
    Option(
        "spec-draft-backend-sampling", ("--spec-draft-backend-sampling",), Kind.PAIR, Group.SPECULATIVE,
        Text("Sample drafts on the GPU"), Text("Samples the draft's tokens on its device."),
        negations=("--no-spec-draft-backend-sampling",), default="on", env="LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING",
    ),
    Option(
        "spec-draft-sampling", ("--spec-draft-sampling",), Kind.ENUM, Group.SPECULATIVE,
        Text("Draft sampling"), Text("Takes the draft's likeliest token, or samples it."),
        choices=("greedy", "probabilistic"), default="greedy", env="LLAMA_ARG_SPEC_DRAFT_SAMPLING",
    ),
    Option(
        "spec-draft-device", ("-devd", "--spec-draft-device", "--device-draft"), Kind.LIST, Group.SPECULATIVE,
        Text("Draft devices"),
        Text("Devices for the draft, by the engine's names. Follows the main model unless set."),
    ),
    Option(
        "spec-draft-ngl", ("-ngld", "--spec-draft-ngl", "--gpu-layers-draft", "--n-gpu-layers-draft"),
        Kind.INT, Group.SPECULATIVE,
        Text("Draft layers on the GPU"), Text("Layers of the draft whose weights go to the GPU."),
        choices=("auto", "all"), default="auto", unit=Text("layers"), env="LLAMA_ARG_N_GPU_LAYERS_DRAFT",
    ),
    Option(
        "spec-draft-model", ("-md", "--spec-draft-model", "--model-draft"), Kind.PATH, Group.SPECULATIVE,
        Text("Draft model"), Text("A small GGUF that guesses ahead for the main model. It needs --spec-type too."),
        env="LLAMA_ARG_SPEC_DRAFT_MODEL",
    ),
    Option(
        "spec-type", ("--spec-type",), Kind.LIST, Group.SPECULATIVE,
        Text("Speculation"),
        Text("How tokens are guessed ahead: by a draft model, the model's own extra layers, or repeated text."),

        choices=("none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash",
                 "draft-dspark", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
        default="none", env="LLAMA_ARG_SPEC_TYPE", appends=True,
    ),
    Option(
        "spec-ngram-mod-n-min", ("--spec-ngram-mod-n-min",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-mod, fewest"), Text("Fewest tokens that ngram-mod drafts."),
        low=0, high=1024, default="48", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-mod-n-max", ("--spec-ngram-mod-n-max",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-mod, most"), Text("Most tokens that ngram-mod drafts."),
        low=0, high=1024, default="64", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-mod-n-match", ("--spec-ngram-mod-n-match",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-mod, match"), Text("Tokens that must match before ngram-mod drafts."),
        low=1, high=1024, default="24", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-simple-size-n", ("--spec-ngram-simple-size-n",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-simple, lookup"), Text("Tokens that ngram-simple looks up."),
        low=1, high=1024, default="12", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-simple-size-m", ("--spec-ngram-simple-size-m",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-simple, draft"), Text("Tokens that ngram-simple drafts."),
        low=1, high=1024, default="48", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-simple-min-hits", ("--spec-ngram-simple-min-hits",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-simple, hits"), Text("How often ngram-simple must have seen the text."),
        low=1, default="1", strict=True,
    ),
    Option(
        "spec-ngram-map-k-size-n", ("--spec-ngram-map-k-size-n",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k, lookup"), Text("Tokens that ngram-map-k looks up."),
        low=1, high=1024, default="12", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-map-k-size-m", ("--spec-ngram-map-k-size-m",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k, draft"), Text("Tokens that ngram-map-k drafts."),
        low=1, high=1024, default="48", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-map-k-min-hits", ("--spec-ngram-map-k-min-hits",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k, hits"), Text("How often ngram-map-k must have seen the text."),
        low=1, default="1", strict=True,
    ),
    Option(
        "spec-ngram-map-k4v-size-n", ("--spec-ngram-map-k4v-size-n",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k4v, lookup"), Text("Tokens that ngram-map-k4v looks up."),
        low=1, high=1024, default="12", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-map-k4v-size-m", ("--spec-ngram-map-k4v-size-m",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k4v, draft"), Text("Tokens that ngram-map-k4v drafts."),
        low=1, high=1024, default="48", unit=Text("tokens"), strict=True,
    ),
    Option(
        "spec-ngram-map-k4v-min-hits", ("--spec-ngram-map-k4v-min-hits",), Kind.INT, Group.SPECULATIVE,
        Text("ngram-map-k4v, hits"), Text("How often ngram-map-k4v must have seen the text."),
        low=1, default="1", strict=True,
    ),
    Option(
        "spec-default", ("--spec-default",), Kind.FLAG, Group.SPECULATIVE,
        Text("Speculation, llama.cpp's choice"), Text("Turns on ngram-mod with its usual lengths. Costs no memory."),
        default="off",
    ),
)
