"""The ten use cases. Figures are starting points with their reason beside them; a request may override sampling."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.errors import AppError
from paddock.launch.use_cases.model import Situation, UseCase, Wish
from paddock.text import Text

_SHARED_SLOTS = 8
_PER_USER = 8192


def _context(wanted: int, reason: Text) -> Iterator[Wish]:
    yield Wish("ctx-size", (str(wanted),), reason)


def _answers_in_text(s: Situation) -> Iterator[Wish]:
    for option in ("embedding", "rerank", "pooling"):
        if s.plan.find(option) is not None:
            yield Wish(option, None, Text("With it, the server answers with numbers, not with text."))


def _moves_kept_text(s: Situation) -> Iterator[Wish]:
    """--cache-reuse does nothing with a projector, and cannot shift a window or a state."""
    if not s.facts.sliding_window and s.plan.find("mmproj") is None:
        yield Wish("cache-reuse", ("256",), Text("Text that was read before is used again, also where it moved within "
                                                 "the prompt: runs of 256 tokens and more."))


def _repeats_itself(s: Situation) -> Iterator[Wish]:
    """Self-speculation needs no second model; a draft that the person chose stays."""
    if s.plan.find("spec-draft-model") is None and s.plan.find("spec-draft-hf") is None:
        yield Wish("spec-type", ("ngram-mod",), Text("Guesses the next words from text that is already in the context: "
                                                     "faster where an answer repeats it, and the answer is the same."))


def _exact(_s: Situation) -> Iterator[Wish]:
    yield Wish("temp", ("0.2",), Text("Fewer surprises. Where the model's maker names a value, take that one."))


def _chat(s: Situation) -> Iterator[Wish]:
    yield from _context(s.context(16384), Text("Room for a long conversation."))


def _coding(s: Situation) -> Iterator[Wish]:
    yield from _context(s.context(32768), Text("Files and changes are long."))


def _retrieval(s: Situation) -> Iterator[Wish]:
    yield from _context(s.context(32768), Text("Several found passages and the question fit in."))
    yield Wish("ubatch-size", ("1024",), Text("Long prompts are read in larger pieces: faster on a GPU, for more "
                                              "compute memory."))


def _tools(s: Situation) -> Iterator[Wish]:
    yield from _context(s.context(65536), Text("Descriptions and results of tools pile up."))
    yield Wish("jinja", (), Text("Tool calls need the template that is in the model file."))


def _creative(s: Situation) -> Iterator[Wish]:
    yield from _context(s.context(16384), Text("A chapter and its beginnings."))
    yield Wish("temp", ("1",), Text("The model's own spread of words, neither sharpened nor flattened."))
    yield Wish("top-p", ("1",), Text("Off: --min-p does this work, and keeps more of the unusual."))
    yield Wish("min-p", ("0.05",), Text("Drops only words that are less than a twentieth as likely as the likeliest."))
    yield Wish("dry-multiplier", ("0.8",), Text("Phrases that were there before get less likely: no loops."))


def _pieces(s: Situation, what: Text) -> Iterator[Wish]:
    """A text must fit into one micro-batch when all of it is looked at together (contract 6.3)."""
    size = s.context(2048)
    yield Wish("ctx-size", (str(s.context(8192)),), Text("All slots together; longer ones only cost memory."))
    yield Wish("batch-size", (str(size),), what)
    yield Wish("ubatch-size", (str(size),), Text("As large as the batch: with --embedding or --rerank llama.cpp makes "
                                                 "both the same, and the smaller one counts."))


def _embedding(s: Situation) -> Iterator[Wish]:
    yield Wish("embedding", (), Text("The server answers with vectors."))
    if s.plan.find("rerank") is not None:
        yield Wish("rerank", None, Text("A server does one or the other."))
    yield from _pieces(s, Text("A text is read in one piece; what is longer is refused."))


def _reranking(s: Situation) -> Iterator[Wish]:
    yield Wish("rerank", (), Text("The server answers how well each document suits a question."))
    if s.plan.find("embedding") is not None:
        yield Wish("embedding", None, Text("A server does one or the other."))
    yield from _pieces(s, Text("A question and a document are read in one piece; what is longer is refused."))


def _long_context(s: Situation) -> Iterator[Wish]:
    trained = s.facts.trained_context
    if trained:
        yield Wish("ctx-size", (str(trained),), Text("All that the model was trained for."))
    yield Wish("parallel", ("1",), Text("One conversation, so that states kept for going back are kept once."))
    head = s.facts.key_length
    if head is None or head % 32 == 0:
        half = Text("Half the memory for the context, with a loss that is hard to measure.")
        yield Wish("cache-type-k", ("q8_0",), half)
        yield Wish("cache-type-v", ("q8_0",), Text("As the keys; it needs flash attention, which -fa auto turns on."))


def _alone(s: Situation) -> Iterator[Wish]:
    yield Wish("parallel", ("1",), Text("Nobody else is served, so nothing is kept for others."))
    yield from _context(s.context(8192), Text("What is not set aside for the context is free for layers on the GPU."))
    if s.facts.nextn_layers:
        yield Wish("spec-type", ("draft-mtp",), Text("The file has layers that predict several words at once."))
    else:
        yield from _repeats_itself(s)


def _many(s: Situation) -> Iterator[Wish]:
    per_user = s.context(_PER_USER)
    yield Wish("parallel", (str(_SHARED_SLOTS),), Text("Eight requests at once; more wait in line."))
    yield Wish("ctx-size", (str(per_user * _SHARED_SLOTS),), Text("{tokens} tokens for each of {slots}.",
                                                                  tokens=per_user, slots=_SHARED_SLOTS))
    yield Wish("kv-unified", (), Text("One pool: who needs more takes what others leave."))
    yield Wish("kv-unified-per-slot", (str(s.context(2 * _PER_USER)),),
               Text("Nobody takes the whole pool: twice an equal share at most."))
    if s.plan.find("spec-type") is not None:
        yield Wish("spec-type", None, Text("With several requests at once the GPU has other work than guesses."))


USE_CASES: tuple[UseCase, ...] = (
    UseCase("chat", Text("Chat"), Text("Conversations with one person or a few."),
            (_answers_in_text, _chat, _moves_kept_text)),
    UseCase("coding", Text("Coding"), Text("An assistant in an editor: long files, exact words."),
            (_answers_in_text, _coding, _exact, _moves_kept_text, _repeats_itself)),
    UseCase("rag", Text("Answers from documents (RAG)"), Text("Long prompts of found passages, short answers."),
            (_answers_in_text, _retrieval, _exact, _moves_kept_text, _repeats_itself)),
    UseCase("tools", Text("Agents and tools"), Text("Many turns with tool calls, whose prompts only grow."),
            (_answers_in_text, _tools, _exact, _moves_kept_text)),
    UseCase("creative", Text("Creative writing"), Text("Variety without loops."), (_answers_in_text, _creative)),
    UseCase("embedding", Text("Embeddings"), Text("Vectors of texts, for search."), (_embedding,)),
    UseCase("reranking", Text("Reranking"), Text("Order found documents by a question."), (_reranking,)),
    UseCase("long-context", Text("Long context"), Text("As much text at once as the model knows."),
            (_answers_in_text, _long_context)),
    UseCase("single-user", Text("Fastest for one"), Text("The most tokens per second for one request at a time."),
            (_answers_in_text, _alone)),
    UseCase("many-users", Text("Many at once"), Text("The most tokens per second over all requests."),
            (_answers_in_text, _many)),
)


def use_case(id: str) -> UseCase:
    """By its id. AppError names those that there are."""
    found = next((case for case in USE_CASES if case.id == id.strip().lower()), None)
    if found is None:
        raise AppError(Text("There is no use case “{name}”.", name=id),
                       hint=Text("There are: {names}.", names=", ".join(case.id for case in USE_CASES)))
    return found
