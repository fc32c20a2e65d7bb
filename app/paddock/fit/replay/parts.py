"""What the graphs of all architectures are made of, on top of attention: feed-forward, experts, the output.

Each method follows the function of the same purpose in src/llama-graph.cpp (b11434): same operations, same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paddock.fit.architectures import names
from paddock.fit.placement import RefusedError
from paddock.fit.replay.attending import Attending
from paddock.fit.replay.nodes import F32, I32, KEEP, Node, NotDescribedError, Tensor
from paddock.fit.replay.runs import shortened
from paddock.text import Text

_FFN_SCALES = names("""bitnet clef cohere2 cohere2moe deepseek32 dflash dots3note gemma4 glm-dsa hy_v3 llama
mistral3 nanbeige nemotron_h nemotron_h_moe qwen3 qwen35""")
_EXPERT_SCALES = names("""cohere2moe deepseek32 dots3note gemma4 glm-dsa hy_v3 llama mellum mistral3 nemotron_h
nemotron_h_moe qwen35moe qwen3moe qwen3next qwen4exp""")
_SHARED_SCALES = names("""cohere2moe deepseek32 dots3note glm-dsa hy_v3 nemotron_h nemotron_h_moe qwen35moe
qwen3next qwen4exp""")

_IMAGE_TOKENS = 8192
"""Logits that Chameleon hides."""


class Build(Attending):
    """One context's graph while it grows. `u`: tokens of the micro-batch, `n_out`: rows that give logits."""

    def ffn(
        self,
        layer: int,
        x: Tensor,
        *,
        up: str = "ffn_up",
        gate: str | None = "ffn_gate",
        down: str = "ffn_down",
        parallel: bool = True,
        ops: int = 1,
        fused: bool = False,
        clamped: bool = False,
        act_scale: bool = False,
    ) -> Node:
        """Feed-forward (build_ffn). ops: in-place operations of an ungated activation; fused: [2F] in one product."""
        g = self.g
        tmp = self._linear(layer, up, x)
        gate_w = self.lw(layer, gate + ".weight") if gate else None
        if gate_w is not None:
            assert gate is not None
            cur = self._linear(layer, gate, x if parallel else tmp)
            if not parallel:
                cur = g.same(cur)
            elif clamped:
                tmp = g.same(tmp)
                cur = g.same(g.same(g.same(cur)), tmp)
            else:
                cur = g.new([cur, tmp], *cur.ne)
        elif fused:
            cur = g.new([tmp], tmp.ne[0] // 2, *tmp.ne[1:])
        else:
            cur = tmp
            for _ in range(ops):
                cur = g.same(cur)
            scale = self.lw(layer, "ffn_act.scales") if act_scale else None
            if scale is not None:
                cur = g.same(cur, scale)
        if self.lw(layer, down + ".weight") is None:
            return cur
        return self._linear(layer, down, cur)

    def _linear(self, layer: int, name: str, x: Tensor) -> Node:
        cur = self.mm(self.lw(layer, name + ".weight"), x)
        scaled = self.arch in (_SHARED_SCALES if name.endswith("shexp") else _FFN_SCALES)
        for suffix in (".bias", ".scale") if scaled else (".bias",):
            extra = self.lw(layer, name + suffix)
            if extra is not None:
                cur = self.g.same(cur, extra)
        return cur

    def experts_linear(self, layer: int, name: str, x: Tensor, ids: Tensor) -> Node:
        """MUL_MAT_ID with its scale (repeated, gathered) and bias (ADD_ID)."""
        g = self.g
        w = self.lw(layer, name + ".weight")
        if w is None:
            raise NotDescribedError
        cur = g.mm_id(w, x, ids)
        scale = self.lw(layer, name + ".scale") if self.arch in _EXPERT_SCALES else None
        if scale is not None:
            n = scale.ne[0]
            wide = g.new([g.view(scale, 1, n)], 1, n, x.ne[2])
            cur = g.same(cur, g.rows(wide, ids))
        bias = self.lw(layer, name + ".bias")
        return cur if bias is None else g.same(cur, bias, ids)

    def moe(
        self,
        layer: int,
        x: Tensor,
        *,
        gating: str = "softmax",
        norm: bool = True,
        scale: bool = False,
        ops: int = 1,
        bias: str | None = "exp_probs_b.bias",
        gate_bias: bool = True,
        probs_in: Tensor | None = None,
        exps: str = "exps",
        experts: int | None = None,
        clamped: bool = False,
        before: bool = False,
        prefix: str = "ffn_",
        selected: Tensor | None = None,
        used: int | None = None,
        act: Callable[[Node, Node], Node] | None = None,
    ) -> Node:
        """Mixture of experts (build_moe_ffn); ops: in-place operations of an ungated activation."""
        g, shape = self.g, self.shape
        tokens = x.ne[1]
        count = experts or shape.experts
        use = used or shape.experts_used[layer]
        ids, weights = self._route(layer, x, gating, norm, scale, bias, gate_bias, probs_in, count, use, selected)
        g.expand(weights)
        cur: Tensor = g.view(x, x.ne[0], 1, tokens, size=x.size)
        if before:
            cur = g.same(g.new([cur], x.ne[0], use, tokens), weights)
        merged = self.lw(layer, f"{prefix}gate_up_{exps}.weight")
        if merged is not None:
            both = self.experts_linear(layer, f"{prefix}gate_up_{exps}", cur, ids)
            half = both.ne[0] // 2
            span = both.size - 4 * half
            done = g.new(
                [g.view(both, half, use, tokens, size=span), g.view(both, half, use, tokens, size=span)],
                half,
                use,
                tokens,
            )
        else:
            up = self.experts_linear(layer, f"{prefix}up_{exps}", cur, ids)
            if self.lw(layer, f"{prefix}gate_{exps}.weight") is not None:
                gate = self.experts_linear(layer, f"{prefix}gate_{exps}", cur, ids)
                if act is not None:
                    done = act(gate, up)
                elif clamped:
                    up = g.same(up)
                    done = g.same(g.same(g.same(gate)), up)
                else:
                    done = g.new([gate, up], *gate.ne)
            else:
                done = up
                for _ in range(ops):
                    done = g.same(done)
        out = self.experts_linear(layer, f"{prefix}down_{exps}", done, ids)
        if not before:
            out = g.same(out, weights)
        return self._gather(out, use, tokens)

    def _gather(self, out: Node, used: int, tokens: int) -> Node:
        """The experts' outputs added up, one view after another."""
        g = self.g
        g.expand(out)
        wide = out.ne[0]
        span = 4 * (wide * used * (tokens - 1) + wide)
        views = [g.view(out, wide, tokens, size=span) for _ in range(used)]
        if used == 1:
            return g.cont(views[0])
        total: Tensor = views[0]
        for view in views[1:]:
            total = g.same(total, view)
            g.expand(total)
        assert isinstance(total, Node)
        return total

    def _route(
        self,
        layer: int,
        x: Tensor,
        gating: str,
        norm: bool,
        scale: bool,
        bias: str | None,
        gate_bias: bool,
        probs_in: Tensor | None,
        count: int,
        use: int,
        selected: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Router: (chosen experts, their weights)."""
        g, tokens = self.g, x.ne[1]
        logits: Tensor = self.mm(self.lw(layer, "ffn_gate_inp.weight"), x) if probs_in is None else probs_in
        extra = self.lw(layer, "ffn_gate_inp.bias") if gate_bias else None
        if extra is not None:
            logits = g.same(logits, extra)
        probs: Tensor = logits if gating == "weight" else g.same(logits)
        if gating == "sqrt":
            probs = g.same(probs)
        chosen = probs
        extra = self.lw(layer, bias) or self.lw(layer, bias.removesuffix(".bias")) if bias else None
        if extra is not None:
            chosen = g.same(probs, extra)
        if self.arch == "llama4":
            chosen = logits
        if self.arch == "grovemoe":
            chosen = g.same(logits)
        groups = self.shape.integer("expert_group_count")
        if groups > 1:
            chosen = self._groups(chosen, count, groups, tokens)
        if selected is None:
            ids: Tensor = g.view(
                g.new([chosen], count, tokens, type_=I32), use, tokens, size=4 * (count * (tokens - 1) + use)
            )
        else:
            ids = selected
        if self.arch == "grovemoe" and count != self.shape.experts:
            cast = g.same(g.new([ids], use, tokens))
            ids = g.new([cast], use, tokens, type_=I32)
        probs_view = g.view(probs, 1, probs.ne[0], tokens, size=probs.size)
        weights: Tensor = g.rows(probs_view, ids)
        if gating == "weight":
            weights = g.view(g.same(g.view(weights, use, tokens)), 1, use, tokens)
        if norm:
            flat = g.view(weights, use, tokens)
            total = g.same(g.new([flat], 1, tokens))
            weights = g.view(g.same(flat, total), 1, use, tokens)
        if scale:
            weights = g.same(weights)
        return ids, weights

    def _groups(self, chosen: Tensor, count: int, groups: int, tokens: int) -> Tensor:
        """Only the best groups of experts stay in the choice (DeepSeek V3)."""
        g = self.g
        each, best = count // groups, self.shape.integer("expert_group_used_count")
        grouped = g.view(chosen, each, groups, tokens)
        top = g.view(
            g.new([grouped], each, groups, tokens, type_=I32),
            2,
            groups,
            tokens,
            size=4 * (each * (groups * tokens - 1) + 2),
        )
        scores: Tensor = g.rows(g.view(chosen, 1, each, groups, tokens), top)
        scores = g.new([g.view(scores, 2, groups, tokens)], 1, groups, tokens)
        order = g.new([g.view(scores, groups, tokens)], groups, tokens, type_=I32)
        keep = g.view(order, best, tokens, size=4 * (groups * (tokens - 1) + best))
        kept = g.rows(grouped, keep)
        filled = g.same(grouped)
        written = Node(KEEP, (kept, keep, filled), F32, filled.ne, filled.size)
        written.base = filled
        g.writers.append(written)
        return g.view(written, count, tokens)

    # ends -------------------------------------------------------------------------------------------------------

    def finish(
        self,
        cur: Tensor,
        *,
        layer_norm: bool = False,
        logit_scale: int = 0,
        cut: Node | None = None,
        norm: str = "output_norm",
        pin: Tensor | None = None,
        after: Node | None = None,
        headless: bool = False,
    ) -> None:
        """Final norm and head; `logit_scale`: operations on the logits; `cut`: rows taken before the norm."""
        g = self.g
        self.layer = -1
        if cut is not None:
            cur = g.rows(cur, cut)
        cur = self.norm(cur, self.w(norm + ".weight"), self.w(norm + ".bias"), layer_norm)
        if after is not None:
            self.outputs.append(cur)
            cur = g.rows(cur, after)
        classes = self.w("cls.output.weight") if self.arch == "qwen35" else None
        if classes is not None:
            bias = self.w("cls.output.bias")
            embd = self.mm(classes, cur)
            embd = embd if bias is None else g.same(embd, bias)
            g.expand(embd)
            self.embed(embd)
        else:
            self.embed(cur)
        head = self.w("token_embd.weight") if self.arch == "bitnet" else self.output_weight()
        if head is not None and not headless:
            cur = self.mm(head, cur, self.w("output.scale"))
            bias = self.w("output.bias")
            if bias is not None:
                cur = g.same(cur, bias)
            for _ in range(logit_scale):
                cur = g.same(cur)
            if self.arch == "chameleon":
                hidden = Node(KEEP, (), F32, (_IMAGE_TOKENS, 1, 1, 1), 4 * _IMAGE_TOKENS)
                cur = g.fresh(cur, g.same(hidden))
            self.outputs.append(cur)
        g.expand(cur)

    def embed(self, x: Tensor) -> None:
        """These rows are embeddings."""
        self.embedded = x
        self.outputs.append(x)

    def pool(self) -> None:
        """The rows of each sequence joined, with --embeddings (build_pooling and build_dense_out)."""
        g, kind, x = self.g, self.sizes.pooling, self.embedded
        if x is None:
            raise RefusedError(Text("{arch} gives no embeddings: llama.cpp aborts with --embeddings.", arch=self.arch))
        cur: Tensor = x
        classed = self.shape.integers.get("classifier.pooling_type", 1 if self.arch == "modern-bert" else 0)
        by_mean = kind == "mean" or (kind == "rank" and classed == 1)
        if by_mean and x.ne[1] != self.u:
            raise RefusedError(
                Text(
                    "--pooling mean needs a micro-batch that divides by the {slots} slots ({tokens} does not): "
                    "llama.cpp aborts.",
                    slots=self.sizes.slots,
                    tokens=x.ne[1],
                )
            )
        if by_mean:
            weights = g.input(F32, self.u, self.sizes.slots)
            cur = g.new([g.cont(g.view(x, x.ne[1], x.ne[0], size=x.size)), weights], x.ne[0], self.sizes.slots)
        elif kind != "none":
            cur = g.rows(x, g.input(I32, self.sizes.slots))
        if kind == "rank":
            cur = self._rank(cur)
        g.expand(cur)
        second, bias, third = (self.w(n) for n in ("dense_2.weight", "dense_2.bias", "dense_3.weight"))
        cur = cur if second is None else self.mm(second, cur)
        cur = cur if bias is None else g.same(cur, bias)
        cur = cur if third is None else self.mm(third, cur)
        g.expand(cur)
        cur.base.is_output = True

    def _rank(self, cur: Tensor) -> Tensor:
        """The classification head of a reranker."""
        g = self.g
        for name in ("cls", "cls.output"):
            weight, bias = self.w(f"{name}.weight"), self.w(f"{name}.bias")
            if weight is None:
                continue
            cur = self.mm(weight, cur)
            if bias is not None:
                cur = g.same(cur, bias)
            if name == "cls":
                cur = g.same(cur)
                norm = self.w("cls.norm.weight")
                cur = cur if norm is None else self.norm(cur, norm, None, True)
        return g.same(cur) if self.arch in ("qwen3", "qwen3vl") else cur

    def mark(self) -> None:
        for tensor in self.outputs:
            tensor.base.is_output = True

    def layers(self) -> Sequence[int]:
        """The trunk's layers to build."""
        return shortened(self.shape, self.weights, self.staged)
