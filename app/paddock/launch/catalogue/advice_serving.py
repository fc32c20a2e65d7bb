"""The longer help of options about guessing ahead, sampling, templates, the network, images, adapters and the log."""

from __future__ import annotations

from paddock.text import Text

_DRAFT_COST = Text("For drafts that run on the processor. A draft should fit the GPU as a whole: if it does not, a "
                   "smaller one is the better choice.")
_SIZE_N = Text("Shorter finds more and guesses worse; longer finds less and guesses better.")
_SIZE_M = Text("Longer pays where text is repeated word by word, as in code; elsewhere most of it is thrown away.")
_HITS = Text("More than 1 guesses only what was seen often: fewer guesses, more of them right.")
_STEER = Text("Subtle changes of style at no cost in speed. Too strong, and the text falls apart.")
_PAGE_SETTINGS = Text("To give everyone the same page. Requests over the interface are not touched by it.")
_ACTS = Text("Whoever may send requests can act on this computer through it, and so can a document that talks the "
             "model into it. Name as little as you need, keep the address local, and set a key.")

_DRAFTING = {
    "lookup-cache-static": Text("A table made before from texts of your own kind. Only with ngram-cache."),
    "lookup-cache-dynamic": Text("Learns from what is generated and is written back, so the file grows."),
    "spec-draft-type-k": Text("The draft's context is as long as the model's: q8_0 halves what that costs."),
    "spec-draft-type-v": Text("The draft's context is as long as the model's: q8_0 halves what that costs. Needs flash "
                              "attention."),
    "spec-draft-hf": Text("The same as -md, downloaded. It needs a type (--spec-type) too."),
    "spec-draft-threads": Text("Only for drafts on the processor; a small draft wants few threads."),
    "spec-draft-threads-batch": Text("Only for drafts on the processor."),
    "spec-draft-override-tensor": _DRAFT_COST, "spec-draft-cpu-moe": _DRAFT_COST, "spec-draft-n-cpu-moe": _DRAFT_COST,
    "spec-draft-n-max": Text("More pays where guesses are usually right (code, quotes); elsewhere each wrong one is "
                             "work thrown away. Watch the acceptance on the page Run."),
    "spec-draft-n-min": Text("Raise it where short drafts are not worth their overhead."),
    "spec-synth-len": Text("Only to find out how fast guessing could be at best. Answers are worthless with it."),
    "spec-synth-rates": Text("Only to find out how fast guessing could be at best. Answers are worthless with it."),
    "spec-draft-p-split": Text("Only for drafts that branch. The usual value is good."),
    "spec-draft-p-min": Text("0.5 to 0.8 stops guessing where the draft is unsure: fewer wrong guesses, shorter "
                             "drafts. Worth trying when acceptance is low."),
    "spec-draft-backend-sampling": Text("Off where a backend samples wrongly; each token then crosses the bus."),
    "spec-draft-sampling": Text("probabilistic keeps more guesses at high temperatures; greedy is right below about "
                                "0.5."),
    "spec-draft-device": Text("A second card that is idle otherwise. On the same card the draft shares its memory."),
    "spec-draft-ngl": Text("all, or choose a smaller draft: one that waits for RAM cannot be ahead."),
    "spec-draft-model": Text("A model of the same family, a tenth of the size or less, with the same vocabulary. It "
                             "speeds up one user; with many at once it costs more than it brings."),
    "spec-type": Text("draft-simple for a small second model; draft-mtp where the model brings prediction layers; the "
                      "others for drafts made for one model. ngram types cost no memory and pay where text is "
                      "repeated."),
    "spec-ngram-mod-n-min": Text("Fewer lets short repetitions count too, and wrong guesses with them."),
    "spec-ngram-mod-n-max": _SIZE_M, "spec-ngram-mod-n-match": _SIZE_N,
    **{f"spec-{kind}-{part}": text for kind in ("ngram-simple", "ngram-map-k", "ngram-map-k4v")
       for part, text in (("size-n", _SIZE_N), ("size-m", _SIZE_M), ("min-hits", _HITS))},
    "spec-default": Text("The easiest try: it helps where answers repeat what was in the prompt, such as edits of "
                         "code, and costs next to nothing elsewhere."),
}

_SAMPLING = {
    "samplers": Text("Requests seldom set it. Leave a sampler out to be sure that it never acts."),
    "seed": Text("A fixed one repeats answers, as long as batches are the same too: with several slots they are not."),
    "sampler-seq": Text("The short form of --samplers; use one of the two."),
    "ignore-eos": Text("For measuring: every answer then runs to its limit."),
    "temp": Text("0 to 0.3 for code and facts, 0.6 to 1 for chat, more for invention. Makers often name their own."),
    "top-k": Text("Small values make text safer and duller. 0 leaves the choice to the other samplers."),
    "top-p": Text("0.8 to 0.95 is usual. Use it or min-p as the main filter rather than both."),
    "min-p": Text("0.05 to 0.1 keeps even high temperatures coherent."),
    "top-nsigma": Text("1 to 2 filters well at any temperature. Instead of top-p and min-p, not besides."),
    "xtc-probability": Text("For stories that should avoid the obvious. Spoils code and facts."),
    "xtc-threshold": Text("Lower leaves more tokens out. Above 0.5 it does nothing."),
    "typical": Text("An older filter for livelier text. Rarely better than min-p."),
    "repeat-last-n": Text("Longer catches repetitions further back; in code it punishes what must be repeated."),
    "repeat-penalty": Text("1.05 to 1.1 against loops of small models. More damages code and lists; DRY does it "
                           "better."),
    "presence-penalty": Text("Some makers advise 1 to 1.5 against endless repetition of quantised models; it may mix "
                             "languages."),
    "frequency-penalty": Text("For long free text. Punishes common words as well, so keep it low."),
    "dry-multiplier": Text("0.8 is usual against repeated sentences; it leaves single words alone."),
    "dry-base": Text("Higher stops long repetitions sooner. Below 1 it is ignored."),
    "dry-allowed-length": Text("Raise it where set phrases must be free to come back."),
    "dry-penalty-last-n": Text("How far back DRY looks. The whole context costs time."),
    "dry-sequence-breaker": Text("Signs at which a repetition may begin anew, such as the names in a dialogue."),
    "adaptive-target": Text("0.3 to 0.7 for text of an even surprise. Other samplers before it matter less."),
    "adaptive-decay": Text("Lower follows the text faster and less evenly."),
    "dynatemp-range": Text("Cooler where the model is sure, warmer where it is not: livelier text that keeps its "
                           "facts."),
    "dynatemp-exp": Text("Above 1 keeps longer to the lower end of the range."),
    "mirostat": Text("For long even text of small models. With it top-k, top-p and the like do nothing."),
    "mirostat-lr": Text("Higher reacts faster and swings more."),
    "mirostat-ent": Text("Lower is more focused, higher more varied."),
    "logit-bias": Text("Forbids or favours a token by number, which differs from model to model."),
    "grammar": Text("Answers that a program must read. Costs some speed for each token, and a model that wants to say "
                    "something else says it badly."),
    "grammar-file": Text("The same as --grammar, for grammars of more than a line."),
    "json-schema": Text("Easier than a grammar where JSON is wanted. Better set in each request, since it binds all of "
                        "them."),
    "json-schema-file": Text("The same as -j, for schemas of more than a line."),
    "backend-sampling": Text("Saves moving the scores of all tokens to the processor: worth a try with many slots. Not "
                             "all samplers are there, and not with -sm tensor."),
}

_TEMPLATES = {
    "escape": Text("Off where a text holds backslashes that mean themselves, such as paths and regular expressions."),
    "reverse-prompt": Text("For models without a chat template. With one, the template's own end is enough."),
    "special": Text("To see what the model really writes. Clients may stumble over it."),
    "spm-infill": Text("Only for models that were trained with that order; their maker says so."),
    "jinja": Text("Tools and thinking need it. Off only for templates that it cannot read: then a built-in one is "
                  "used."),
    "reasoning-format": Text("none leaves thoughts in the text, for clients that cut them out themselves. auto puts "
                             "them into reasoning_content."),
    "reasoning": Text("Off gives quicker answers where the template allows it; hard questions are answered worse."),
    "reasoning-effort": Text("low, medium or high, for models whose template knows it: time against depth."),
    "reasoning-budget": Text("A limit against thoughts without end. Cut thoughts make worse answers: 0 turns them off "
                             "cleanly."),
    "reasoning-budget-message": Text("A sentence that leads to the answer, so that a cut thought does not end in the "
                                     "middle."),
    "reasoning-preserve": Text("Off saves context in long chats; the model then does not see why it said what it "
                               "said."),
    "chat-template": Text("Where the file has none, or a wrong one. A template of another family makes a model seem "
                          "stupid."),
    "chat-template-file": Text("For corrected templates that makers publish after the file."),
    "chat-template-kwargs": Text("Switches of the template, such as {\"enable_thinking\": false}. Requests can set "
                                 "them too."),
    "skip-chat-parsing": Text("Where calls of tools come out wrong: the client then sees what was really written."),
    "prefill-assistant": Text("Off for clients that end with a message of the assistant and want a new one."),
}

_SERVER = {
    "host": Text("0.0.0.0 lets the whole network in: set a key then. A path that ends in .sock is a UNIX socket, which "
                 "only this computer's accounts reach."),
    "port": Text("Any free one from 1 to 65535; below 1024 needs rights. Name it: the default is about to change."),
    "reuse-port": Text("For several servers behind one port. Which one answers is chance."),
    "path": Text("For a page of your own. Everything in the folder can be read by whoever reaches the server."),
    "cors-origins": Text("localhost keeps web pages from elsewhere out of your server. * is needed only for pages on "
                         "other computers."),
    "cors-methods": Text("Fewer for pages that only ask. Programs are not bound by it."),
    "cors-headers": Text("Fewer for pages that only ask. Programs are not bound by it."),
    "cors-credentials": Text("Off where pages need no key."),
    "api-prefix": Text("Behind a proxy that shares one address among several servers. The health check moves too."),
    "api-key": Text("As soon as another machine can reach the server. Several keys, with commas, can be withdrawn one "
                    "by one."),
    "api-key-file": Text("Keeps keys out of the list of processes. Read once, at the start."),
    "ssl-key-file": Text("For https without a proxy. Only with a certificate: half a pair serves plain http in "
                         "silence."),
    "ssl-cert-file": Text("For https without a proxy. Clients must trust it."),
    "timeout": Text("Shorter frees slots of clients that vanished; long prompts on a slow machine need it long."),
    "sse-ping-interval": Text("Shorter where a proxy cuts silent connections during long prompts."),
    "metrics": Text("Costs nothing that can be measured. Reading it resets its averages for other readers."),
    "props": Text("Only where a program needs it: whoever may send requests can then change defaults for all."),
    "slots": Text("Off hides what others are doing on a shared server, and Paddock's live speeds with it."),
    "sleep-idle-seconds": Text("Gives the memory back between uses; the next request waits for the whole load."),
    "ui": Text("Off where only programs talk to the server."),
    "ui-config": _PAGE_SETTINGS, "ui-config-file": _PAGE_SETTINGS,
    "ui-mcp-proxy": _ACTS, "tools": _ACTS, "mcp-servers-config": _ACTS, "mcp-servers-json": _ACTS, "agent": _ACTS,
    "tools-runtime": Text("Runs tools in a container instead of on this computer: far safer, if they must be on."),
}

_MEDIA = {
    "mmproj": Text("It must belong to the model, by the same maker. It takes memory that --fit counts in newer builds "
                   "only, and turns context shift and cache reuse off."),
    "mmproj-url": Text("The same as -mm, downloaded."),
    "mmproj-auto": Text("Off where only text is needed: saves the download and the memory."),
    "mmproj-offload": Text("Off makes room on the card; each image then takes seconds longer."),
    "mmproj-device": Text("A second card for images, so that they do not disturb the model's."),
    "image-min-tokens": Text("More reads small print better and takes longer."),
    "image-max-tokens": Text("Fewer makes large images quicker and coarser. Beyond -ub some models cut it off."),
    "mtmd-batch-max-tokens": Text("Larger computes big images faster, for compute memory."),
    "video-fps": Text("More sees quick movements and fills the context faster."),
    "video-timestamp-interval": Text("Shorter lets the model say when something happened more exactly."),
    "video-ffmpeg-dir": Text("Where ffmpeg is not on PATH, or another version is wanted."),
    "media-path": Text("Lets requests name files instead of sending them. Everything below it can be read by whoever "
                       "may send requests."),
    "lora": Text("Adds a skill or style without another model. Made for exactly this model; costs a little speed."),
    "lora-scaled": Text("Weaker or stronger than it was trained. 1 is as trained. Paths with a drive letter do not "
                        "work."),
    "lora-init-without-apply": Text("For clients that turn adapters on per request."),
    "control-vector": _STEER, "control-vector-scaled": _STEER,
    "control-vector-layer-range": Text("The middle third of the layers usually steers best."),
}

_LOG = {
    "log-disable": Text("Only where a log must not exist. Faults cannot be explained afterwards."),
    "log-file": Text("A copy for later. The file is emptied at each start, and prompts may be in it at high levels."),
    "log-jsonl": Text("For programs that read the log. It moves to standard output then."),
    "log-colors": Text("on for viewers that show colours though they are no terminal."),
    "verbose": Text("Prompts and answers are in it then: not for other people's servers."),
    "verbosity": Text("4 says which buffer lies where, which Paddock reads. 5 writes so much that it slows the "
                      "server."),
    "log-prefix": Text("Off for logs to which another program adds it."),
    "log-timestamps": Text("Off for logs to which another program adds them."),
    "log-prompts-dir": Text("To see exactly what a client sends. Everything private in it lies on the disk then."),
}

SERVING: dict[str, Text] = {**_DRAFTING, **_SAMPLING, **_TEMPLATES, **_SERVER, **_MEDIA, **_LOG}
