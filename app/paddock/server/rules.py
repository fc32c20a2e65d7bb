"""What llama-server says when it fails, and what to do about it, as data.

Source: llama.cpp build 11434 (and 10434), partly observed by running it, partly read in its source. Rows are found by
substring first (`needles`, cheap), then by `pattern` where values are wanted: its named groups fill the texts and the
edits. `rank`: 0 says why in its own terms; 1 is evidence that a later rank-0 line names better (a file that could not
be opened: which one, the model or its draft?); 2 says only that something failed. `edits` name options by llama.cpp's
longest name without dashes; None as value removes the option.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paddock.text import Text

Edits = tuple[tuple[str, tuple[str, ...] | None], ...]


@dataclass(frozen=True)
class Rule:
    """One row: any needle must be in the line, and the pattern (if given) must be found in it."""

    id: str
    needles: tuple[str, ...]
    cause: Text
    advice: Text
    pattern: re.Pattern[str] | None = None
    edits: Edits = ()
    rank: int = 0
    fatal: bool = True


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


ARGUMENTS = (
    Rule("unknown-flag", ("error: invalid argument:",),
         Text("This llama.cpp does not know the option {flag}."),
         Text("Remove it, or use its new name: the list of options shows what this program takes. "
              "--mmap, --mlock and -dio are now values of --load-mode."),
         _re(r"invalid argument: (?P<flag>\S+)")),
    Rule("removed-flag", ("the argument has been removed",),
         Text("The option {flag} no longer exists in this llama.cpp."),
         Text("It says itself what replaces it: {replacement}."),
         _re(r'handling argument "(?P<flag>[^"]+)": the argument has been removed\.? ?(?P<replacement>.*?)\.?$')),
    Rule("unknown-device", ("invalid device:",),
         Text("This llama.cpp sees no device named {device}."),
         Text("Use a name from its list of devices, or leave the option out."),
         _re(r"invalid device: (?P<device>\S+)"), (("device", None),)),
    Rule("unknown-buffer-type", ("unknown buffer type",),
         Text("A tensor override names a buffer type that this llama.cpp does not have."),
         Text("The log lists the names that exist; a device's buffer has the device's name."),
         edits=(("override-tensor", None),)),
    Rule("rpc-not-built", ("RPC not supported in this build",),
         Text("This llama.cpp was built without RPC."),
         Text("Choose a build with RPC, or remove --rpc."), edits=(("rpc", None),)),
    Rule("cache-type-unknown", ("Unsupported cache type",),
         Text("{type} is not a type that the KV cache can have in this llama.cpp."),
         Text("Choose one of the types that its help lists; f16 always works."),
         _re(r"Unsupported cache type: (?P<type>\S+)")),
    Rule("missing-value", ("expected value for argument",),
         Text("The option {flag} was given without its value."),
         Text("Give it a value, or remove it."), _re(r'handling argument "(?P<flag>[^"]+)"')),
    Rule("chat-template-unknown", ("the supplied chat template is not supported",),
         Text("The chat template is not one that llama.cpp can use this way."),
         Text("Turn --jinja on, or choose another template."),
         edits=(("jinja", ()), ("chat-template", None))),
    Rule("bad-environment", ("error while handling environment variable",),
         Text("The environment variable {name} holds a value that llama.cpp cannot read ({why})."),
         Text("Remove the variable from the environment, or correct it."),
         _re(r'environment variable "(?P<name>[^"]+)": (?P<why>.*)')),
    Rule("bad-value", ("error while handling argument",),
         Text("The value of {flag} is not one that llama.cpp accepts ({why})."),
         Text("The log shows the option's own description below this line."),
         _re(r'handling argument "(?P<flag>[^"]+)": (?P<why>.*)'), rank=1),
)

FILES = (
    Rule("file-not-found", ("No such file or directory)",),
         Text("The file {file} does not exist."),
         Text("Check the path; the drive may not be mounted, or the file was moved."),
         _re(r"GGUF file '(?P<file>[^']*)' \(No such file"), rank=1),
    Rule("file-not-permitted", ("(Permission denied)",),
         Text("The file {file} may not be read."),
         Text("Change its permissions, or move it where you may read it."),
         _re(r"GGUF file '(?P<file>[^']*)' \(Permission denied"), rank=1),
    Rule("file-not-opened", ("failed to open GGUF file",),
         Text("The file {file} could not be opened: {why}."),
         Text("Check the path and the drive that it is on."),
         _re(r"GGUF file '(?P<file>[^']*)' \((?P<why>[^)]*)\)"), rank=1),
    Rule("not-a-gguf", ("invalid magic characters", "failed to read magic"),
         Text("The file is not a GGUF: it may be a web page, a pointer file of Git LFS, a folder or another format."),
         Text("Download it again from its source, and compare the size."), rank=1),
    Rule("file-version-too-new", ("this GGUF file is version",),
         Text("The file has GGUF version {version}; this llama.cpp reads up to {known}."),
         Text("Update llama.cpp; where the file is from a big-endian machine, convert it."),
         _re(r"file is version (?P<version>\d+).*version (?P<known>\d+)"), rank=1),
    Rule("file-version-too-old", ("is no longer supported, please use a more up-to-date version",),
         Text("The file has a GGUF version that is no longer read."),
         Text("Get a newer conversion of the model."), rank=1),
    Rule("file-truncated",
         ("failed to read key-value pairs", "failed to read tensor info", "is not within the file bounds"),
         Text("The file ends too early: its download is not complete, or it is damaged."),
         Text("Download it again, and compare the size with the source's."), rank=1),
    Rule("shard-not-first", ("must be loaded with the first split",),
         Text("The file is not the first part of a split model."),
         Text("Choose the part whose name has -00001-of-.")),
    Rule("shard-missing", ("failed to load GGUF split from", "invalid split file"),
         Text("A part of the split model is missing or does not belong to it."),
         Text("Keep all parts in one folder under their own names; download the missing one.")),
    Rule("architecture-unknown", ("unknown model architecture",),
         Text("This llama.cpp does not know models of the architecture {name}."),
         Text("Update llama.cpp: the model is newer than the program."),
         _re(r"unknown model architecture: '(?P<name>[^']*)'"), rank=1),
    Rule("projector-as-model", ("CLIP cannot be used as main model",),
         Text("The file is a projector for images or sound, not a model."),
         Text("Choose the model itself, and give this file as --mmproj.")),
    Rule("model-mismatch",
         ("error loading model hyperparameters", "wrong number of tensors", "missing tensor",
          "unknown pre-tokenizer type"),
         Text("The model and this llama.cpp do not fit together."),
         Text("Update llama.cpp; if it is new, get a newer conversion of the model."), rank=1),
    Rule("not-downloaded", ("exactly one out metadata, path_model, and file must be defined",),
         Text("The model is not in the download cache, and downloading is off."),
         Text("Download it first, or turn --offline off."), edits=(("offline", None),)),
    Rule("download-failed",
         ("failed to fetch model metadata", "failed to download model",
          "required file is not available in cache (offline mode)"),
         Text("The model could not be downloaded."),
         Text("Check the network, the name and its quantisation; a private model needs a Hugging Face token (-hft).")),
    Rule("draft-not-loaded", ("failed to load draft model",),
         Text("The draft model could not be loaded."),
         Text("Check its file, or launch without a draft."),
         edits=(("spec-draft-model", None), ("spec-type", None))),
    Rule("mtp-not-in-model", ("doesn't contain MTP layers", "failed to create MTP context"),
         Text("The model has no layers for multi-token prediction."),
         Text("Choose another way of drafting, or none."), edits=(("spec-type", None),)),
    Rule("draft-wrong-kind", ("draft model is not eagle3", "DSpark draft has no confidence head"),
         Text("The draft model is of another kind than --spec-type says."),
         Text("Choose the type that belongs to this draft.")),
    Rule("projector-not-loaded", ("Failed to load CLIP model", "failed to load multimodal model"),
         Text("The projector for images or sound could not be loaded."),
         Text("Take the mmproj file that belongs to this model, or launch without it."), edits=(("mmproj", None),)),
    Rule("lora-not-loaded", ("failed to load lora adapter", "failed to apply lora adapter"),
         Text("A LoRA adapter could not be loaded."),
         Text("Check its path, and that it was made for this model."), edits=(("lora", None),)),
    Rule("chat-template-broken", ("chat template parsing error",),
         Text("The chat template has an error."),
         Text("Choose another template, or the model's own."),
         edits=(("chat-template", None), ("chat-template-file", None))),
)

MEMORY = (
    Rule("kv-out-of-memory", ("failed to allocate buffer for kv cache",),
         Text("The KV cache does not fit into memory."),
         Text("Lower the context or the number of slots, or quantise the KV cache."),
         edits=(("ctx-size", ("4096",)),)),
    Rule("compute-out-of-memory", ("failed to allocate compute pp buffers", "failed to allocate compute tg buffers",
                                   "failed to allocate compute buffers"),
         Text("The compute buffers do not fit into memory."),
         Text("Lower the physical batch, the batch or the context."), edits=(("ubatch-size", ("128",)),)),
    Rule("weights-out-of-memory", ("unable to allocate",),
         Text("The model's weights do not fit into the memory of {device}."),
         Text("Put fewer layers on it, choose a smaller quantisation, or let --fit decide."),
         _re(r"unable to allocate (?P<device>\S+) buffer"), (("n-gpu-layers", None), ("fit", ("on",)))),
    Rule("device-out-of-memory", ("cudaMalloc failed: out of memory", "ErrorOutOfDeviceMemory", "hipMalloc failed"),
         Text("The device ran out of memory."),
         Text("Put fewer layers on it, lower the context, or let --fit decide."),
         edits=(("n-gpu-layers", None), ("fit", ("on",))), rank=1),
    Rule("host-out-of-memory", ("insufficient memory (attempted to allocate",),
         Text("The machine's memory is too small: {size} MB were asked for at once."),
         Text("Lower the context, or choose a smaller model."),
         _re(r"attempted to allocate (?P<size>[\d.]+) MB"), (("ctx-size", ("4096",)),), rank=1),
    Rule("backend-error", ("CUDA error", "ROCm error", "SYCL error", "vk::", "Metal error"),
         Text("The device's driver or a kernel failed."),
         Text("Lower the load (context, batch, layers), close what else uses the device, update the driver. "
              "After a suspend, restart the driver or the machine."), rank=1),
    Rule("split-axis", ("SPLIT_AXIS_UNKNOWN",),
         Text("This model or KV type cannot be split by tensor."),
         Text("Use --split-mode layer, or an f16 or q8_0 KV cache."), edits=(("split-mode", ("layer",)),)),
    Rule("assertion", ("GGML_ASSERT(",),
         Text("llama.cpp found an error in itself and stopped: {what}"),
         Text("Update llama.cpp; where it happens again, report it with the log."),
         _re(r"(?P<what>GGML_ASSERT\(.*)"), rank=1),
)

NETWORK = (
    Rule("socket-stale", ("couldn't bind HTTP server socket",),
         Text("The Unix socket {path} exists already or its folder cannot be written."),
         Text("Remove the file when no other server uses it."),
         _re(r"hostname: (?P<path>\S+\.sock),")),
    Rule("port-not-bound", ("couldn't bind HTTP server socket",),
         Text("The server could not listen on {host}, port {port}."),
         Text("The port is taken, the address is not this machine's, the port needs more rights (below 1024), or a "
              "TLS file cannot be used. Choose another port or address."),
         _re(r"hostname: (?P<host>\S*), port: (?P<port>\d+)"), (("port", None),)),
    Rule("port-zero", ("--port 0 is not supported with multiple TCP addresses",),
         Text("Port 0 (any free one) works with a single address only."),
         Text("Give a port, or one address."), edits=(("port", None),)),
    Rule("tls-not-built", ("the server is built without SSL support",),
         Text("This llama.cpp was built without TLS."),
         Text("Launch without certificate files, or choose another build."),
         edits=(("ssl-key-file", None), ("ssl-cert-file", None))),
    Rule("static-path", ("static assets path not found",),
         Text("The folder of --path does not exist."), Text("Correct it, or remove the option."),
         edits=(("path", None),)),
    Rule("rpc-unreachable", ("Failed to connect to",),
         Text("No RPC server answers at {address}."),
         Text("Start it there first, or remove it from --rpc."),
         _re(r"Failed to connect to (?P<address>\S+)")),
    Rule("rpc-version", ("RPC server version mismatch", "RPC handshake failed"),
         Text("The RPC server is of another llama.cpp version."),
         Text("Use the same build on both machines.")),
    Rule("rpc-died", ("Remote RPC server crashed or returned malformed response",),
         Text("An RPC server crashed or answered nonsense."),
         Text("Look at its own log; use the same build on both machines.")),
    Rule("router-models", ("failed to initialize router models",),
         Text("The folder or the presets of the router could not be used: {why}"),
         Text("Correct --models-dir or the preset file."),
         _re(r"failed to initialize router models: (?:error: )?(?P<why>.*)")),
    Rule("tools-failed", ("tools setup failed", "MCP starting failed"),
         Text("Tools or MCP servers could not be started: {why}"),
         Text("Correct their settings, or launch without them."),
         _re(r"(?:tools setup|MCP starting) failed: (?P<why>.*)")),
)

SETTINGS = (
    Rule("split-tensor-needs-fa", ("SPLIT_MODE_TENSOR requires flash_attn",),
         Text("Splitting by tensor needs Flash Attention."), Text("Turn it on."), edits=(("flash-attn", ("on",)),)),
    Rule("split-tensor-architecture", ("SPLIT_MODE_TENSOR not implemented for architecture",),
         Text("Models of this architecture cannot be split by tensor."), Text("Split by layer."),
         edits=(("split-mode", ("layer",)),)),
    Rule("split-tensor-no-device", ("SPLIT_MODE_TENSOR needs >= 1 devices",),
         Text("Splitting by tensor needs at least one device, and there is none."), Text("Split by layer."),
         edits=(("split-mode", ("layer",)),)),
    Rule("split-row-backend", ("does not support split buffers",),
         Text("This device cannot split by row."), Text("Split by layer."), edits=(("split-mode", ("layer",)),)),
    Rule("main-gpu-range", ("invalid value for main_gpu",),
         Text("There is no device number {number}; {count} can be used."), Text("Count from 0."),
         _re(r"main_gpu: (?P<number>-?\d+) \(available devices: (?P<count>\d+)\)"), (("main-gpu", ("0",)),)),
    Rule("quantised-v-needs-fa", ("quantized V cache requires flash_attn",),
         Text("A quantised V cache needs Flash Attention, which is off."),
         Text("Turn it on, or use an f16 V cache."), edits=(("flash-attn", ("on",)),)),
    Rule("quantised-v-fa-unsupported", ("quantized V cache was requested, but this requires Flash Attention",),
         Text("A quantised V cache needs Flash Attention, which this device cannot do for this model."),
         Text("Use an f16 V cache."), edits=(("cache-type-v", ("f16",)),)),
    Rule("kv-block-size", ("does not divide n_embd_head_",),
         Text("The {which} cache cannot have the type {type}: the model's head size is no multiple of its block."),
         Text("Choose another type for it; f16 always works."),
         _re(r"(?P<which>[KV]) cache type (?P<type>\S+) with block size")),
    Rule("kv-types-differ", ("model does not support different K",),
         Text("This model needs the same type for K and V ({k}, {v} were asked for)."),
         Text("Give both the same type."), _re(r"different K \((?P<k>[^)]*)\) and V \((?P<v>[^)]*)\)"),
         (("cache-type-v", ("{k}",)),)),
    Rule("too-many-slots", ("n_seq_max must be <= 256",),
         Text("llama.cpp can serve at most 256 slots."), Text("Lower --parallel."), edits=(("parallel", ("256",)),)),
    Rule("batch-zero", ("n_batch and n_ubatch cannot both be zero",),
         Text("Batch and physical batch are both 0."), Text("Remove them: the defaults are 2048 and 512."),
         edits=(("batch-size", None), ("ubatch-size", None))),
    Rule("draft-context", ("requires a draft context",),
         Text("A way of drafting was chosen that needs a draft model; it serves without drafting."),
         Text("Add a draft model, or set --spec-type none."), edits=(("spec-type", None),), fatal=False),
    Rule("draft-vocabulary", ("the target and draft vocabs are not compatible",),
         Text("The draft model's vocabulary does not match the model's: it serves without drafting."),
         Text("Take a draft of the same family."), edits=(("spec-draft-model", None),), fatal=False),
    Rule("draft-dropped", ("failed to initialize speculative decoding context",),
         Text("Drafting could not be started: it serves without."),
         Text("Check that the draft belongs to the model."), fatal=False, rank=1),
    Rule("fit-aborted", ("failed to fit params to free device memory:",),
         Text("--fit did not fit the model to the memory: {why}."),
         Text("Remove the option that pins the layout, or set --fit off to say that it is meant."),
         _re(r"free device memory: (?P<why>.*?)(?:, abort)?$"), fatal=False),
    Rule("mlock-failed", ("failed to mlock",),
         Text("The model could not be locked in memory: the limit for locked memory is too low."),
         Text("Raise it (ulimit -l), or choose another load mode."), edits=(("load-mode", ("mmap",)),), fatal=False),
)

RUNNING = (
    Rule("request-too-long", ("exceeds the available context size",),
         Text("A request of {tokens} tokens is longer than a slot's context."),
         Text("Raise the context, or lower the number of slots."),
         _re(r"request \((?P<tokens>\d+) tokens\)"), fatal=False),
    Rule("input-over-batch", ("is too large to process. increase the physical batch size",),
         Text("An input of {tokens} tokens is larger than the physical batch."),
         Text("Raise --ubatch-size."), _re(r"input \((?P<tokens>\d+) tokens\)"), fatal=False),
    Rule("kv-pressure", ("failed to find free space in the KV cache",),
         Text("The KV cache is full: the batch had to be made smaller."),
         Text("Raise the context, or serve fewer slots."), fatal=False),
    Rule("context-full", ("Context size has been exceeded",),
         Text("A request filled the context and was cut off."),
         Text("Raise the context, or turn --context-shift on."), fatal=False),
    Rule("compute-error", ("Compute error.", "Invalid input batch."),
         Text("A batch could not be computed."),
         Text("Look at the lines before; a device may have run out of memory or failed."), fatal=False),
)

GENERIC = (
    Rule("cannot-start", ("paddock: cannot start",),
         Text("“{program}” could not be started: {why}."),
         Text("Check that this program is there and was built for this machine."),
         _re(r"paddock: cannot start (?P<program>.*): (?P<why>[^:]*)$")),
    Rule("library-missing", ("error while loading shared libraries", "Library not loaded"),
         Text("A library that the engine needs is missing: {what}"),
         Text("Install it, or choose an engine that brings its libraries along."),
         _re(r"(?:shared libraries|not loaded): (?P<what>.*)")),
    Rule("loading-failed", ("exiting due to model loading error", "failed to load model", "failed to create context"),
         Text("The model could not be loaded."), Text("The log's lines before this one say why."), rank=2),
    Rule("http-failed", ("exiting due to HTTP server error", "failed to initialize HTTP server"),
         Text("The HTTP server could not be started."), Text("The log's lines before this one say why."), rank=2),
)

RULES: tuple[Rule, ...] = (*ARGUMENTS, *MEMORY, *SETTINGS, *FILES, *NETWORK, *RUNNING, *GENERIC)
"""In order: the first row that matches a line is the line's row."""
