"""Context, slots and batch."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import OFF, ON, Question, error, hint, warning
from paddock.launch.model import Issue
from paddock.text import Text
from paddock.units import count_text

_LARGE_CONTEXT = 32768
_PART_OF_BATCH = ("kimi-linear", "minimax-01")


def slots(q: Question) -> Iterator[Issue]:
    """0 slots is refused."""
    if q.number("parallel") == 0:
        yield error("no-slots", "parallel", Text("-np 0 is refused."), Text("Use 1 or more, or -1 for auto."),
                    (("parallel", ("1",)),))


def sleeping(q: Question) -> Iterator[Issue]:
    """Zero seconds is refused: it must be -1 or at least 1."""
    if q.number("sleep-idle-seconds") == 0:
        yield error("no-sleep-time", "sleep-idle-seconds", Text("--sleep-idle-seconds 0 is refused."),
                    Text("Use 1 or more, or -1 to stay awake."), (("sleep-idle-seconds", None),))


def batches(q: Question) -> Iterator[Issue]:
    """Batches that abort, and one that is not what it says."""
    b = q.number("batch-size")
    u = q.number("ubatch-size")
    batch, micro = 2048 if b is None else b, 512 if u is None else u
    count = q.effective.slots
    if batch == 0 and micro == 0:
        yield error("no-batch", "batch-size", Text("-b and -ub cannot both be 0."), Text("Use 2048 and 512."),
                    (("batch-size", None), ("ubatch-size", None)))
    elif 0 < batch < count:
        yield error("batch-below-slots", "batch-size",
                    Text("A batch of {batch} is smaller than the number of slots ({slots}): the program aborts.",
                         batch=batch, slots=count), Text("Use at least the number of slots."),
                    (("batch-size", (str(max(count, 32)),)),))
    elif q.effective.embedding and 0 < min(batch, micro) < count:
        yield error("batch-below-slots", "ubatch-size",
                    Text("For embeddings the micro-batch may not be smaller than the number of slots ({slots}).",
                         slots=count), Text("Use at least the number of slots."),
                    (("ubatch-size", (str(max(count, 32)),)),))
    elif micro > batch > 0:
        yield hint("micro-batch-above-batch", "ubatch-size",
                   Text("A micro-batch of {micro} never fills: the batch is {batch}.", micro=micro, batch=batch),
                   Text("Use the same number for both."), (("batch-size", (str(micro),)),))


def context_per_slot(q: Question) -> Iterator[Issue]:
    """An explicit number of slots divides the context."""
    fact = q.effective
    per_slot = fact.context_per_slot
    if fact.slots > 1 and not fact.unified and per_slot is not None and fact.context is not None:
        yield hint("context-divided", "parallel",
                   Text("{slots} slots divide the context: each gets {part} of {whole} tokens.", slots=fact.slots,
                        part=count_text(per_slot), whole=count_text(fact.context)),
                   Text("With --kv-unified they share it."), (("kv-unified", ("on",)),))


def overruled_sharing(q: Question) -> Iterator[Issue]:
    """Automatic slots always share one cache."""
    setting = q.plan.find("kv-unified")
    np = q.number("parallel")
    if setting is not None and not setting.on and (np is None or np < 0):
        yield warning("sharing-overruled", "kv-unified",
                      Text("-np auto turns sharing on: --no-kv-unified is overruled."),
                      Text("Name the number of slots."), (("parallel", ("4",)),))


def trained_context(q: Question) -> Iterator[Issue]:
    """More context for one slot than the model was trained with is cut off."""
    trained = q.model.facts.trained_context if q.model is not None else None
    per_slot = q.effective.context_per_slot
    stretched = (q.text("rope-scaling") or "none") != "none" or q.text("rope-scale") or q.text("rope-freq-scale")
    if trained is None or per_slot is None or stretched or per_slot <= -(-trained // 256) * 256:
        return
    whole = trained if q.effective.unified else trained * q.effective.slots
    yield warning("above-trained", "ctx-size",
                  Text("A slot would get {asked} tokens, the model was trained with {trained}: the rest is memory "
                       "without use.", asked=count_text(per_slot), trained=count_text(trained)),
                  Text("Use {whole}.", whole=count_text(whole)), (("ctx-size", (str(whole),)),))


def whole_context(q: Question) -> Iterator[Issue]:
    """-c 0 or no -c means all that the model was trained with, which may be huge."""
    trained = q.model.facts.trained_context if q.model is not None else None
    if trained is None or trained <= _LARGE_CONTEXT or q.effective.context is not None or q.effective.embedding:
        return
    text = q.text("ctx-size")
    if text is not None and q.number("ctx-size") == 0:
        yield warning("whole-context", "ctx-size",
                      Text("-c 0 takes all {trained} tokens that the model was trained with, and --fit may not lower "
                           "it.", trained=count_text(trained)),
                      Text("Name a context, or leave -c out."), (("ctx-size", None),))
    elif text is None and (q.text("fit") or "on") in OFF:
        yield hint("whole-context", "ctx-size",
                   Text("Without -c and without --fit the context is all {trained} tokens that the model was trained "
                        "with.", trained=count_text(trained)), Text("Name a context."))


def micro_batch_parts(q: Question) -> Iterator[Issue]:
    """Some recurrent families abort where the micro-batch cannot be shared out evenly."""
    architecture = q.model.architecture if q.model is not None else None
    fact = q.effective
    micro = q.number("ubatch-size") or 512
    uneven = architecture in _PART_OF_BATCH and micro % max(fact.slots, 1) != 0
    if not fact.unified and (uneven or (architecture == "t5" and fact.slots > 1)):
        yield error("slots-abort", "parallel",
                    Text("This family of models aborts with {slots} slots that do not share one cache.",
                         slots=fact.slots), Text("Turn on --kv-unified."), (("kv-unified", ("on",)),))


def idle_slots(q: Question) -> Iterator[Issue]:
    """Saving idle slots needs the prompt cache."""
    setting = q.plan.find("cache-idle-slots")
    if setting is not None and setting.on and q.number("cache-ram") == 0:
        yield hint("idle-slots-need-cache", "cache-idle-slots",
                   Text("{flag} does nothing without the prompt cache.", flag=CATALOGUE["cache-idle-slots"].names[0]),
                   Text("Give -cram some memory."))


def flash_attention(q: Question) -> Iterator[Issue]:
    """Forced on for a family that runs without it."""
    if q.model is not None and q.model.architecture == "grok" and (q.text("flash-attn") or "") in ON:
        yield warning("fa-overruled", "flash-attn", Text("This model always runs without flash attention."),
                      Text("Take it out."), (("flash-attn", None),))


def limit_for_slots(q: Question) -> Iterator[Issue]:
    """--kv-unified-per-slot sizes the shared cache only where -c is not set; beside it, it only cuts."""
    each, whole = q.number("kv-unified-per-slot"), q.number("ctx-size")
    if not each or each < 0:
        return
    if not q.effective.unified:
        yield hint("limit-without-sharing", "kv-unified-per-slot",
                   Text("--kv-unified-per-slot does nothing: the slots do not share one cache."),
                   Text("Turn on --kv-unified."), (("kv-unified", ("on",)),))
    elif whole and each > whole:
        yield hint("limit-above-context", "kv-unified-per-slot",
                   Text("A limit of {each} for each slot is above the whole context of {whole}.",
                        each=count_text(each), whole=count_text(whole)),
                   Text("Leave -c out: it is then sized for all slots."), (("ctx-size", None),))


def embedding_batches(q: Question) -> Iterator[Issue]:
    """Embeddings take a whole text in one micro-batch: the batch is cut to its size (server.cpp)."""
    batch, micro = q.number("batch-size"), q.number("ubatch-size")
    if q.effective.embedding and batch is not None and batch > (512 if micro is None else micro):
        yield hint("embedding-batch", "ubatch-size",
                   Text("For embeddings the batch is cut to the micro-batch of {micro}; longer texts are refused.",
                        micro=512 if micro is None else micro),
                   Text("Use -ub {batch}.", batch=batch), (("ubatch-size", (str(batch),)),))
