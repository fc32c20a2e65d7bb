"""A draft model beside its target: whether they speak the same tokens, and whether the pair can be faster.

Both files are read; where one is not known nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.gguf.model import ModelFile
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.checks.speculation import chosen_types
from paddock.launch.model import Issue
from paddock.text import Text

_MOST_APART = 128
"""Tokens by which the vocabularies may differ in length (speculative.cpp, SPEC_VOCAB_MAX_SIZE_DIFFERENCE)."""
_TOO_LARGE = 0.5


def vocabularies(q: Question) -> Iterator[Issue]:
    """llama.cpp compares type, special tokens, length and texts of both vocabularies and serves without a draft where
    they differ (speculative.cpp, common_speculative_are_compatible). Texts are long: here "pre" stands for them."""
    target, draft = q.model, q.conditions.draft
    if target is None or draft is None or not _plain_draft(q):
        return
    why = _differ(target, draft)
    if why is not None:
        yield error("vocabularies-differ", "spec-draft-model",
                    Text("The draft does not fit the model, and the server would run without it: {why}", why=why),
                    Text("Choose a smaller model of the same family."), (("spec-draft-model", None),
                                                                         ("spec-type", None)))
        return
    ours, theirs = (model.value("tokenizer.ggml.pre") for model in (target, draft))
    if ours and theirs and ours != theirs:
        yield warning("tokenizers-differ", "spec-draft-model",
                      Text("The model cuts text into tokens as “{ours}” does, the draft as “{theirs}”: few of "
                           "its guesses will be right, if it is taken at all.", ours=ours, theirs=theirs),
                      Text("Choose a smaller model of the same family."))


def _plain_draft(q: Question) -> bool:
    """The other types of drafts use the target's own vocabulary."""
    return chosen_types(q) <= {"draft-simple"}


def _differ(target: ModelFile, draft: ModelFile) -> Text | None:
    kinds = [model.value("tokenizer.ggml.model") for model in (target, draft)]
    if all(kinds) and kinds[0] != kinds[1]:
        return Text("their vocabularies are of the kinds {ours} and {theirs}.", ours=kinds[0], theirs=kinds[1])
    sizes = [model.facts.vocabulary for model in (target, draft)]
    if sizes[0] is not None and sizes[1] is not None and abs(sizes[0] - sizes[1]) > _MOST_APART:
        return Text("their vocabularies have {ours} and {theirs} tokens.", ours=sizes[0], theirs=sizes[1])
    for mark in ("bos", "eos"):
        adds = [model.value(f"tokenizer.ggml.add_{mark}_token") for model in (target, draft)]
        marks = [model.value(f"tokenizer.ggml.{mark}_token_id") for model in (target, draft)]
        if None not in adds and adds[0] != adds[1]:
            return Text("only one of them puts a {mark} token in.", mark=mark)
        if adds == [True, True] and None not in marks and marks[0] != marks[1]:
            return Text("their {mark} tokens are {ours} and {theirs}.", mark=mark, ours=marks[0], theirs=marks[1])
    return None


def active_bytes(model: ModelFile) -> int:
    """Bytes of weights that one token reads: all, but of the experts only those that are used."""
    facts = model.facts
    experts = sum(layer.get("experts", 0) for layer in facts.layer_bytes)
    if not facts.experts or not facts.experts_used:
        return model.tensor_bytes
    return model.tensor_bytes - experts + experts * facts.experts_used // facts.experts


def size(q: Question) -> Iterator[Issue]:
    """A draft that reads as much as the model cannot pay. With cost c per guess (its bytes over the target's), n
    guesses and a share a of right ones, a round costs 1 + n·c and gives (1 - a^(n+1)) / (1 - a) tokens: with n = 3 and
    a = 0.7 these are 2.5 at c = 0.5. Above that, guessing loses."""
    target, draft = q.model, q.conditions.draft
    if target is None or draft is None or not _plain_draft(q):
        return
    whole, part = active_bytes(target), active_bytes(draft)
    if whole and part >= whole * _TOO_LARGE:
        yield warning("draft-too-large", "spec-draft-model",
                      Text("The draft reads {percent} % of what the model reads for each token: guessing with it costs "
                           "more than it saves.", percent=round(100 * part / whole)),
                      Text("Choose a draft of a tenth or less."))


def target_on_cpu(q: Question) -> Iterator[Issue]:
    """A draft saves reading weights again; a processor that checks several guesses at once is held up by arithmetic."""
    drafting = any(name.startswith("draft-") for name in chosen_types(q))
    if not drafting or q.devices is None or (q.devices and q.text("gpu-layers") != "0"):
        return
    yield hint("target-on-cpu", "spec-type",
               Text("The model runs on the processor: checking several guesses at once takes it nearly as long as "
                    "generating them one by one, so a draft rarely helps."),
               Text("Measure it against a run without a draft."))
