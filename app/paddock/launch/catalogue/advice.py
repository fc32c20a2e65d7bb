"""When one would change an option, and what it costs: the longer help, one text for each option.

Facts are those of build 11434's source and documents; judgements of speed are of the kind that experience gives, not
measured here. Options that print something and end have none.
"""

from __future__ import annotations

from paddock.launch.catalogue.advice_serving import SERVING
from paddock.text import Text

_PRESET = Text("Handy for a first try. Everything that it sets can be set by hand, and what is set by hand beside it "
               "wins or loses by its place in the line: later words win.")
_YARN = Text("Only for models whose maker gives a number for it. A wrong one makes long texts incoherent.")
_TWIN = Text("Worth it only together with its thread count, on machines where prompts and generation should use "
             "different cores. Without that count it is ignored.")

_MODEL = {
    "model": Text("The file is mapped or read at the start, so a local disk matters for the time until the first "
                  "answer. All parts of a split model must lie in one folder."),
    "model-url": Text("Together with -m, which names the place to download to. Without -m or -hf the server takes it "
                      "for a router and waits."),
    "docker-repo": Text("Where a model is published as an image. It is downloaded once and then taken from the cache."),
    "hf-repo": Text("The quickest way to a published model: it comes with its projector if there is one. The first "
                    "start waits for the download; without a network add --offline."),
    "hf-file": Text("Where the part behind the colon of -hf picks the wrong file, or names of files are unusual."),
    "hf-token": Text("Keep it in the keyring or a variable: in the command line every program of this computer can "
                     "read it."),
    "offline": Text("For machines without a network, or to be sure that nothing is looked up. A model that is not in "
                    "the cache then fails at once."),
    "override-kv": Text("Repairs files with wrong metadata, such as a missing begin-of-text token. A wrong value makes "
                        "the model talk nonsense without any warning."),
    "embedding": Text("For models made to compare texts. Chat is off then, and a text must fit one micro-batch (-ub)."),
    "rerank": Text("For models made to order documents by a question. Chat is off then."),
    "pooling": Text("The model's file usually says it. Change it only where the maker asks for it: vectors of "
                    "different kinds cannot be compared."),
    "embd-normalize": Text("Most databases of vectors expect 2. Change it only if yours asks for raw vectors."),
    "alias": Text("Clients that insist on a certain model name get one here, without touching the file."),
    "tags": Text("Helps to find a model among many in a router's list."),
    "models-dir": Text("One address for many models: each is loaded when a request names it. Loading takes its time, "
                       "and the estimate is made for each model alone."),
    "models-preset": Text("Gives each model of a router its own settings. What the command line sets overrides all of "
                          "them."),
    "models-max": Text("Each loaded model keeps its memory. Lower it where two do not fit at once."),
    "models-autoload": Text("Off where only a person may decide what is loaded: a request for another model then fails "
                            "at once instead of waiting."),
    **dict.fromkeys(("embd-gemma-default", "fim-qwen-1.5b-default", "fim-qwen-3b-default", "fim-qwen-7b-default",
                     "fim-qwen-7b-spec", "fim-qwen-14b-spec", "fim-qwen-30b-default", "gpt-oss-20b-default",
                     "gpt-oss-120b-default", "vision-gemma-4b-default", "vision-gemma-12b-default"), _PRESET),
}

_CONTEXT = {
    "ctx-size": Text("More lets the model remember longer texts; the KV cache grows with it, and generation slows down "
                     "as it fills. Name as much as you use: --fit may lower it only where it is not set."),
    "predict": Text("A guard against answers that never end. A request's own limit wins over it."),
    "batch-size": Text("Hardly changes speed beyond the micro-batch. Larger ones let several short prompts be computed "
                       "together."),
    "ubatch-size": Text("1024 or 2048 often speed up long prompts on a GPU, most of all with experts in RAM; compute "
                        "memory grows in proportion. Does nothing for generation."),
    "keep": Text("Only with context shift: keeps the system prompt while the oldest messages are dropped."),
    "parallel": Text("More slots answer more people at once, and each recurrent or sliding-window layer keeps memory "
                     "for each of them. One slot is best for one person."),
    "cont-batching": Text("Leave it on: without it a new request waits until all running ones are done."),
    "context-shift": Text("Lets a chat go on for ever, at the price of a model that has forgotten its beginning, and "
                          "of a cache that must be computed anew. Not with a projector."),
    "kv-unified-per-slot": Text("Keeps one long conversation from taking the room of all others in a shared context."),
    "flash-attn": Text("Less memory and usually more speed. Turn it off only where answers are wrong with it, or where "
                       "a backend computes it on the processor (speed then drops far)."),
    "warmup": Text("Off saves a second or two at the start, which the first request then pays."),
    "perf": Text("For those who look for lost time inside llama.cpp. Costs a little itself."),
    "rope-scaling": Text("For contexts beyond the trained one. yarn loses less than linear; both cost some quality "
                         "even on short texts, so leave it out where the trained context is enough."),
    "rope-scale": Text("2 doubles the usable context, 4 quadruples it; quality falls with each step. Needs "
                       "--rope-scaling to say how."),
    "rope-freq-base": Text("Only where the model's maker gives a number: it must fit what the model was trained with."),
    "rope-freq-scale": Text("Another way to say --rope-scale: 0.5 here is 2 there. Use one of them."),
    "yarn-orig-ctx": Text("Only where the file does not say it, as in some old conversions."),
    **dict.fromkeys(("yarn-ext-factor", "yarn-attn-factor", "yarn-beta-slow", "yarn-beta-fast"), _YARN),
}

_MEMORY = {
    "repack": Text("Prompts on the processor become faster, loading a little slower, and the file is then not mapped "
                   "but copied. Turn it off where a build dies right after loading (illegal instruction)."),
    "no-host": Text("Where weights stay in RAM and the processor computes them: repacked kernels can then be used, and "
                    "copies to the card become slower."),
    "load-mode": Text("mmap starts fastest and shares memory with the page cache. none reads everything: better over a "
                      "network and on spinning disks. mlock keeps the model from being swapped out, if the system's "
                      "limit allows it. dio leaves the page cache alone."),
    "lazy-mode": Text("Saves RAM where a model has one huge table of which each token reads a few rows. Reading from a "
                      "slow disk then costs speed."),
    "override-tensor": Text("The finest tool for placement: the first pattern that matches wins. --fit no longer helps "
                            "once it is used, and a pattern that matches nothing still costs."),
    "cpu-moe": Text("Lets a large model of experts run on a small card: attention stays on the GPU, experts are read "
                    "from RAM, and speed follows the speed of the RAM. Better than leaving whole layers out."),
    "n-cpu-moe": Text("As few as just make it fit: each layer fewer is speed gained. With several cards move -ts "
                      "along, since it empties the first card first."),
    "n-cpu-ffn": Text("The same for models without experts. Those weights are read for every token, so it costs more "
                      "speed than -ncmoe does."),
    "gpu-layers": Text("all if it fits. Each layer left in RAM slows every token; one layer short (the output) is the "
                       "commonest mistake. auto lets --fit decide."),
    "fit": Text("Leave it on unless you place everything by hand. It gives up, with a line in the log, as soon as "
                "-ngl, -ts, -ot or -ncmoe is set."),
    "fit-target": Text("More where other programs need the card, or where images and long prompts come later; less "
                       "where every layer counts and nothing else runs."),
    "fit-ctx": Text("Raise it where a short context is of no use to you: then fewer layers go to the GPU instead."),
    "op-offload": Text("Off where the bus to the card is slow (x1, x4 risers, USB): copying weights for long prompts "
                       "then costs more than it brings."),
    "check-tensors": Text("When answers are nonsense: finds damaged files. Loading takes longer."),
    "swa-full": Text("Chats that go back and forth can then reuse their prompt; the cache of those layers grows to the "
                     "whole context."),
    "kv-offload": Text("Off makes room for more layers on a small card, at a price that grows with the length of the "
                       "context. A quantised cache is usually the better way."),
    "cache-type-k": Text("q8_0 for both is the usual choice when memory is short; q4_0 costs accuracy that shows in "
                         "long contexts. Keep K and V the same on CUDA, or attention becomes slow."),
    "cache-type-v": Text("Values bear fewer bits than keys. Needs flash attention, and on CUDA the same type as K."),
    "kv-unified": Text("On where slots are used unevenly: one may take what others leave. Off where each must be sure "
                       "of its part, or where many long contexts run at once."),
    "defrag-thold": Text("Take it out."),
    "cache-ram": Text("Switching between conversations becomes quick, for up to so much RAM, which --fit does not "
                      "count. 0 where RAM is short, more where many long chats take turns."),
    "cache-idle-slots": Text("Off where moving the state costs more than computing short prompts again."),
    "cache-prompt": Text("Off only to measure, or where each answer must not depend on what came before."),
    "cache-reuse": Text("Helps clients that cut the middle out of a prompt. 256 is a usual value; the reused part is "
                        "shifted, not computed, so answers differ a little."),
    "ctx-checkpoints": Text("More let a conversation go back further without computing all again, for RAM: on hybrid "
                            "models each may take hundreds of MiB."),
    "checkpoint-min-step": Text("Smaller steps lose less when going back, and fill the allowed number sooner."),
    "slot-prompt-similarity": Text("Raise it where different users' prompts begin alike, so that they do not take each "
                                   "other's slots."),
    "slot-save-path": Text("For programs that save and restore conversations. Each file is as large as its part of the "
                           "KV cache."),
}

_HARDWARE = {
    "rpc": Text("A model larger than one machine can be spread over several; every token then crosses the network. No "
                "key, no encryption: only in a network that you trust."),
    "device": Text("To leave a card free for the screen or another program, or to measure without it. The order given "
                   "here is the order of -ts."),
    "split-mode": Text("layer works everywhere and over slow links; the cards take turns. tensor lets all cards work "
                       "on each token: faster on fast links, experimental, and not for all families. none keeps to one "
                       "card."),
    "tensor-split": Text("Cards of unequal size or speed: give each its share. Once set, --fit does not move layers "
                         "any more."),
    "main-gpu": Text("With -sm none the card that is used. Otherwise it hardly matters today."),
    "threads": Text("Generation is limited by memory, not by arithmetic: as many as physical cores, often fewer. One "
                    "thread too many on a busy machine costs more than one too few."),
    "threads-batch": Text("Prompts are limited by arithmetic: all logical cores can help. Set it where prompts are "
                          "long and -t is low."),
    "cpu-mask": Text("Keeps the threads on fast cores of a processor with two kinds, or on one socket."),
    "cpu-range": Text("The same as a mask, easier to write: 0-7."),
    "cpu-strict": Text("Against threads that wander between cores. Bad on a shared machine: a bound thread waits where "
                       "another would move on."),
    "prio": Text("Against other programs that take the cores. Above 0 needs rights, and 3 can freeze a desktop."),
    "poll": Text("Higher reacts faster and burns the cores between tokens; lower is kinder to laptops and shared "
                 "machines."),
    **dict.fromkeys(("cpu-mask-batch", "cpu-range-batch", "cpu-strict-batch", "prio-batch", "poll-batch",
                     "spec-draft-cpu-mask", "spec-draft-cpu-range", "spec-draft-cpu-strict", "spec-draft-prio",
                     "spec-draft-poll", "spec-draft-cpu-mask-batch", "spec-draft-cpu-strict-batch",
                     "spec-draft-prio-batch", "spec-draft-poll-batch"), _TWIN),
    "numa": Text("On machines with two sockets or several memory banks: distribute spreads the work, isolate keeps to "
                 "one bank, numactl obeys what numactl was told. Drop the page cache before the first run with another "
                 "choice."),
    "threads-http": Text("Only with hundreds of open connections."),
}

_TABLES: tuple[dict[str, Text], ...] = (_MODEL, _CONTEXT, _MEMORY, _HARDWARE, SERVING)
ADVICE: dict[str, Text] = {name: text for table in _TABLES for name, text in table.items()}
"""By id, for every option that can be part of a launch."""
