"""Where the model comes from and what it is served as."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "model", ("-m", "--model"), Kind.PATH, Group.MODEL,
        Text("Model"), Text("The GGUF to load. Of a split model, the first part."),
        env="LLAMA_ARG_MODEL",
    ),
    Option(
        "model-url", ("-mu", "--model-url"), Kind.TEXT, Group.MODEL,
        Text("Model URL"), Text("Downloads the model from this address."),
        env="LLAMA_ARG_MODEL_URL",
    ),
    Option(
        "docker-repo", ("-dr", "--docker-repo"), Kind.TEXT, Group.MODEL,
        Text("Docker repository"), Text("Downloads the model from Docker Hub."),
        env="LLAMA_ARG_DOCKER_REPO",
    ),
    Option(
        "hf-repo", ("-hf", "-hfr", "--hf-repo"), Kind.TEXT, Group.MODEL,
        Text("Hugging Face repository"),
        Text("Downloads the model from this repository, with a quantisation after a colon."),
        env="LLAMA_ARG_HF_REPO",
    ),
    Option(
        "hf-file", ("-hff", "--hf-file"), Kind.TEXT, Group.MODEL,
        Text("Hugging Face file"), Text("Which file of the repository to load."),
        env="LLAMA_ARG_HF_FILE",
    ),
    Option(
        "hf-token", ("-hft", "--hf-token"), Kind.TEXT, Group.MODEL,
        Text("Hugging Face token"), Text("Access token for repositories that are not public."),
        env="HF_TOKEN", secret=True,
    ),
    Option(
        "offline", ("--offline",), Kind.FLAG, Group.MODEL,
        Text("Offline"), Text("Uses only what is in the cache; never the network."),
        default="off", env="LLAMA_ARG_OFFLINE",
    ),
    Option(
        "override-kv", ("--override-kv",), Kind.LIST, Group.MODEL,
        Text("Override metadata"), Text("Replaces values in the model's metadata: KEY=TYPE:VALUE."),
        appends=True,
    ),
    Option(
        "embedding", ("--embedding", "--embeddings"), Kind.FLAG, Group.MODEL,
        Text("Embeddings only"), Text("Serves embeddings and nothing else."),
        default="off", env="LLAMA_ARG_EMBEDDINGS",
    ),
    Option(
        "rerank", ("--rerank", "--reranking"), Kind.FLAG, Group.MODEL,
        Text("Reranking"), Text("Serves the reranking endpoint."),
        default="off", env="LLAMA_ARG_RERANKING",
    ),
    Option(
        "pooling", ("--pooling",), Kind.ENUM, Group.MODEL,
        Text("Pooling"), Text("How the vectors of the tokens become one embedding."),
        choices=("none", "mean", "cls", "last", "rank"), env="LLAMA_ARG_POOLING",
    ),
    Option(
        "embd-normalize", ("--embd-normalize",), Kind.INT, Group.MODEL,
        Text("Normalise embeddings"),
        Text("-1 none, 0 largest value, 1 taxicab, 2 Euclidean, above that the p-norm."),
        low=-1, default="2",
    ),
    Option(
        "alias", ("-a", "--alias"), Kind.LIST, Group.MODEL,
        Text("Alias"), Text("Names under which requests may ask for this model."),
        env="LLAMA_ARG_ALIAS",
    ),
    Option(
        "tags", ("--tags",), Kind.LIST, Group.MODEL,
        Text("Tags"), Text("Words shown with the model; they change nothing."),
        env="LLAMA_ARG_TAGS",
    ),
    Option(
        "models-dir", ("--models-dir",), Kind.FOLDER, Group.MODEL,
        Text("Models folder"), Text("Folder of models that the server loads on demand."),
        env="LLAMA_ARG_MODELS_DIR",
    ),
    Option(
        "models-preset", ("--models-preset",), Kind.PATH, Group.MODEL,
        Text("Models preset"), Text("INI file of models and their settings for loading on demand."),
        env="LLAMA_ARG_MODELS_PRESET",
    ),
    Option(
        "models-max", ("--models-max",), Kind.INT, Group.MODEL,
        Text("Models at once"), Text("Most models that are loaded at the same time. 0 is no limit."),
        low=0, default="4", unit=Text("models"), env="LLAMA_ARG_MODELS_MAX",
    ),
    Option(
        "models-autoload", ("--models-autoload",), Kind.PAIR, Group.MODEL,
        Text("Load on demand"), Text("Loads a model when a request asks for it."),
        negations=("--no-models-autoload",), default="on", env="LLAMA_ARG_MODELS_AUTOLOAD",
    ),
    Option(
        "embd-gemma-default", ("--embd-gemma-default",), Kind.FLAG, Group.MODEL,
        Text("EmbeddingGemma"), Text("Preset of llama.cpp: a small embedding model, downloaded when missing."),
        default="off",
    ),
    Option(
        "fim-qwen-1.5b-default", ("--fim-qwen-1.5b-default",), Kind.FLAG, Group.MODEL,
        Text("Qwen 2.5 Coder 1.5B"),
        Text("Preset of llama.cpp: code completion, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "fim-qwen-3b-default", ("--fim-qwen-3b-default",), Kind.FLAG, Group.MODEL,
        Text("Qwen 2.5 Coder 3B"),
        Text("Preset of llama.cpp: code completion, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "fim-qwen-7b-default", ("--fim-qwen-7b-default",), Kind.FLAG, Group.MODEL,
        Text("Qwen 2.5 Coder 7B"),
        Text("Preset of llama.cpp: code completion, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "fim-qwen-7b-spec", ("--fim-qwen-7b-spec",), Kind.FLAG, Group.MODEL,
        Text("Qwen 2.5 Coder 7B with draft"),
        Text("Preset of llama.cpp: code completion with a 0.5B draft, downloaded when missing."),
        default="off",
    ),
    Option(
        "fim-qwen-14b-spec", ("--fim-qwen-14b-spec",), Kind.FLAG, Group.MODEL,
        Text("Qwen 2.5 Coder 14B with draft"),
        Text("Preset of llama.cpp: code completion with a 0.5B draft, downloaded when missing."),
        default="off",
    ),
    Option(
        "fim-qwen-30b-default", ("--fim-qwen-30b-default",), Kind.FLAG, Group.MODEL,
        Text("Qwen 3 Coder 30B A3B"),
        Text("Preset of llama.cpp: code completion, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "gpt-oss-20b-default", ("--gpt-oss-20b-default",), Kind.FLAG, Group.MODEL,
        Text("gpt-oss 20B"), Text("Preset of llama.cpp, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "gpt-oss-120b-default", ("--gpt-oss-120b-default",), Kind.FLAG, Group.MODEL,
        Text("gpt-oss 120B"), Text("Preset of llama.cpp, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "vision-gemma-4b-default", ("--vision-gemma-4b-default",), Kind.FLAG, Group.MODEL,
        Text("Gemma 3 4B with vision"),
        Text("Preset of llama.cpp, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
    Option(
        "vision-gemma-12b-default", ("--vision-gemma-12b-default",), Kind.FLAG, Group.MODEL,
        Text("Gemma 3 12B with vision"),
        Text("Preset of llama.cpp, downloaded when missing. Changes port, context and batch."),
        default="off",
    ),
)
