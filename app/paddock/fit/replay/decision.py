"""Clef: a Qwen 3.5 backbone without memory, and a head that scores the options of questions (src/models, b11434).

The graph is reserved for one question with one option.
"""

from __future__ import annotations

from paddock.fit.replay.kpool import filled
from paddock.fit.replay.nodes import F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import known, unit

GRAPHED = frozenset({"clef"})


def build(b: Build) -> None:
    """The whole graph."""
    g = b.g
    x: Tensor = b.inp_embd()
    b.inp_pos()
    for layer in b.layers():
        normed = b.lnorm(layer, "attn_norm", x)
        cur = _linear(b, layer, normed) if b.shape.recurrent[layer] else _attention(b, layer, normed)
        middle = g.same(cur, x)
        x = g.same(b.ffn(layer, b.lnorm(layer, "post_attention_norm", middle)), middle)
    score = _Head(b).score(b.norm(x, b.w("output_norm.weight")))
    out = g.same(g.new([score], score.ne[0], b.u), g.input(F32, 1))
    b.embed(out)
    g.expand(out)
    b.mark()


def _attention(b: Build, layer: int, x: Tensor) -> Node:
    """As in Qwen 3.5: the query's product also gives a gate."""
    g, s, u = b.g, b.shape, b.u
    heads, kv, head = s.heads[layer], s.kv_heads[layer], s.head_k[layer]
    both, k_raw, v_raw = (b.biased(layer, f"attn_{part}", x) for part in "qkv")
    span = both.size - 4 * head
    q: Tensor = b.lnorm(layer, "attn_q_norm", g.view(both, head, heads, u, size=span))
    k: Tensor = b.lnorm(layer, "attn_k_norm", g.view(k_raw, head, kv, u))
    gate = g.cont(g.view(both, head, heads, u, size=span), (head * heads, u, 1, 1))
    q, k = g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos())
    out = b.attention(layer, q, k, g.view(v_raw, head, kv, u), wo=None)
    return b.project(layer, g.same(out, g.same(gate)), "attn_output")


def _linear(b: Build, layer: int, x: Tensor) -> Tensor:
    """The gated delta rule over the whole batch; its states start from nothing and are not kept."""
    g, s, u = b.g, b.shape, b.u
    inner, key, conv = s.integer("ssm.inner_size"), s.integer("ssm.state_size"), s.integer("ssm.conv_kernel")
    k_heads, v_heads = s.integer("ssm.group_count"), s.integer("ssm.time_step_rank")
    head = inner // max(1, v_heads)
    mixed, z, beta_raw, alpha = (
        b.mm(b.lw(layer, f"{n}.weight"), x, b.lw(layer, f"{n}.scale"))
        for n in ("attn_qkv", "attn_gate", "ssm_beta", "ssm_alpha")
    )
    beta = g.same(g.view(beta_raw, 1, v_heads, u))
    decay = g.same(g.same(g.view(alpha, v_heads, u), *known(b.lw(layer, "ssm_dt.bias"))))
    gate = g.view(g.same(decay, *known(b.lw(layer, "ssm_a"))), 1, v_heads, u)
    wide = inner + 2 * k_heads * key
    start = g.same(filled(b, F32, conv - 1, wide))
    joined = g.new([start, g.view(mixed, u, wide, size=mixed.size)], conv - 1 + u, wide)
    cur = g.same(g.new([joined, *known(b.lw(layer, "ssm_conv1d.weight"))], wide, u))
    span = 4 * wide * (u - 1)
    q, k = (unit(b, g.view(cur, key, k_heads, u, size=span + 4 * key * k_heads)) for _ in range(2))
    v = g.view(cur, head, v_heads, u, size=span + 4 * inner)
    state = g.same(filled(b, F32, head, head, v_heads))
    made = g.new([q, k, v, gate, beta, state], head * v_heads, u + head)
    normed = b.lnorm(layer, "ssm_norm", g.view(made, head, v_heads, u, size=4 * inner * u))
    y = g.same(normed, g.same(g.view(z, head, v_heads, u)))
    out = b.mm(b.lw(layer, "ssm_out.weight"), g.view(y, inner, u), b.lw(layer, "ssm_out.scale"))
    return g.view(out, b.embd, u)


class _Head:
    """The decision head. Its inputs: the tokens, what to pool for the question and the option, their ties."""

    def __init__(self, b: Build) -> None:
        g = b.g
        self.b = b
        self.heads = b.shape.integer("decision.head_count")
        self.tokens = g.input(I32, b.u)
        self.question, self.option = g.input(F32, b.u, 1), g.input(F32, b.u, 1)
        self.type, self.owner, self.mask = g.input(I32, 1), g.input(I32, 1), g.input(F32, 1, 1)

    def w(self, name: str) -> Node:
        found = self.b.w(name)
        if found is None:
            raise NotDescribedError
        return found

    def times(self, name: str, x: Tensor) -> Node:
        return self.b.mm(self.w(name + ".weight"), x)

    def linear(self, name: str, x: Tensor) -> Node:
        return self.b.g.same(self.times(name, x), self.w(name + ".bias"))

    def norm(self, name: str, x: Tensor) -> Node:
        return self.b.norm(x, self.w(name + ".weight"), self.w(name + ".bias"), True)

    def turned(self, x: Tensor) -> Node:
        return self.b.g.cont(x, (x.ne[1], x.ne[0], 1, 1))

    def attend(self, name: str, q: Tensor, kv: Tensor) -> Node:
        """Attention of a few queries to all of `kv`, without a mask."""
        g = self.b.g
        wide, count, keys = q.ne[0], q.ne[1], kv.ne[1]
        head = wide // self.heads
        query, key, value = (self.linear(f"{name}_{n}", q if n == "q" else kv) for n in "qkv")
        turned = g.cont(g.view(value, keys, head, self.heads, size=value.size))
        scores = g.same(
            g.new(
                [g.view(key, head, keys, self.heads), g.view(query, head, count, self.heads)], keys, count, self.heads
            )
        )
        mixed = g.new([turned, scores], head, count, self.heads)
        flat = g.cont(g.view(mixed, head, self.heads, count, size=mixed.size), (wide, count, 1, 1))
        return self.linear(f"{name}_o", flat)

    def feed(self, name: str, x: Tensor) -> Node:
        inner = self.linear(f"{name}.ffn_up", self.norm(f"{name}.ffn_norm", x))
        return self.linear(f"{name}.ffn_down", self.b.g.same(inner))

    def routed(self, options: Node, memory: Node, count: int) -> Node:
        """The options read the prompt."""
        g = self.b.g
        for i in range(count):
            name = f"dec.blk.{i}"
            query, seen = self.norm(name + ".cross_attn_norm", options), self.norm(name + ".cross_attn_norm_kv", memory)
            options = g.same(options, self.attend(name + ".cross_attn", query, seen))
            options = g.same(options, self.feed(name, options))
        return options

    def joint(self, fields: Node, memory: Node, first: int, count: int) -> Node:
        """The questions read each other and the prompt."""
        g = self.b.g
        for i in range(first, first + count):
            name = f"dec.blk.{i}"
            own = self.norm(name + ".attn_norm", fields)
            fields = g.same(fields, self.attend(name + ".attn", own, own))
            query = self.norm(name + ".cross_attn_norm", fields)
            fields = g.same(fields, self.attend(name + ".cross_attn", query, memory))
            fields = g.same(fields, self.feed(name, fields))
        return fields

    def score(self, x: Tensor) -> Node:
        """One score per option."""
        b, g = self.b, self.b.g
        routing, joint = b.shape.integer("decision.routing_block_count"), b.shape.integer("decision.block_count")
        hidden = self.norm("decision.hidden_norm", x)
        memory = self.times("decision.proj_memory", hidden)
        last = g.view(hidden, b.embd, 1)
        turned = self.turned(hidden)
        question, context = g.mm(turned, self.question), g.mm(turned, self.option)
        table = b.output_weight()
        if table is None:
            raise NotDescribedError
        lexical = g.mm(self.turned(g.rows(table, self.tokens)), self.option)
        options = g.same(
            self.times("decision.proj_option_context", context), self.times("decision.proj_option_lexical", lexical)
        )
        options = g.same(options, g.rows(self.times("decision.proj_option_question", question), self.owner))
        options = self.routed(options, memory, routing)
        fields = self.times("decision.proj_question", question)
        weights = g.same(g.same(g.same(g.mm(options, fields)), self.mask))
        summary = g.mm(self.turned(options), weights)
        fields = g.same(fields, self.norm("decision.option_summary_norm", summary))
        fields = g.same(fields, self.times("decision.proj_global", last))
        fields = g.same(fields, g.rows(self.w("token_types.weight"), self.type))
        fields = self.norm("decision.field_norm", self.joint(fields, memory, routing, joint))
        return self._compared(question, last, lexical, options, fields)

    def _compared(self, question: Tensor, last: Tensor, lexical: Node, options: Node, fields: Node) -> Node:
        """Each option against its question: by embeddings, by angle, and by a small network."""
        g = self.b.g
        anchor = g.rows(g.fresh(g.same(question, last)), self.owner)
        prior = g.new([g.same(g.fresh(lexical), anchor)], 1, 1)
        own = self.norm("decision.option_norm", options)
        field = g.rows(fields, self.owner)
        cosine = g.new([g.same(g.fresh(field), g.fresh(own))], 1, 1)
        wide = field.ne[0]
        features = g.new([field, own], 2 * wide, 1)
        features = g.new([features, g.same(field, own)], 3 * wide, 1)
        features = g.new([features, g.same(g.same(field, own))], 4 * wide, 1)
        extra = self.linear("decision.scorer_out", g.same(self.linear("decision.scorer", features)))
        scales = self.w("decision.scales")
        joint = g.same(g.same(cosine, g.view(scales, 1)), extra)
        return g.same(g.same(prior, g.view(scales, 1)), g.same(joint, g.view(scales, 1)))
