"""What can be said about a plan before it is launched: one table of small functions.

Each takes a `Question` and yields `Issue`s; it stays silent where what it needs is not known.
"""

from __future__ import annotations

from paddock.engine.model import Engine
from paddock.gguf.model import ModelFile
from paddock.hardware.model import Machine
from paddock.launch.checks import (
    cache_types,
    context,
    devices,
    flags,
    model_file,
    network,
    offload,
    pairing,
    speculation,
    splitting,
    surroundings,
    threads,
    tuning,
    values,
)
from paddock.launch.checks.question import Check, Question
from paddock.launch.model import Conditions, Issue, Plan, Severity

__all__ = ["CHECKS", "Check", "Question", "check"]

CHECKS: tuple[Check, ...] = (
    model_file.no_model, model_file.missing_files, model_file.unusable_engine, model_file.other_engine,
    model_file.wrong_kind, model_file.file_problems, model_file.later_part, model_file.projector,
    model_file.projector_fits, model_file.chat_template,
    model_file.windows_paths, tuning.prefix_program,
    flags.unknown_flags, flags.program_options, flags.bare_flag, flags.repeated_flags, flags.left_out_words,
    flags.without_effect,
    values.values, values.lists,
    offload.engine_without_gpu, offload.layers,
    devices.unknown_devices, devices.twice, devices.listing_failed, devices.remote_first, devices.buffers,
    devices.no_device, devices.patterns, devices.experts, devices.pinned_fit,
    splitting.split_mode, splitting.row_mode, splitting.tensor_families, splitting.main_device,
    splitting.split_parts, tuning.collective_library, tuning.direct_copies,
    cache_types.quantised_values, cache_types.same_types, cache_types.head_sizes, cache_types.fused_heads,
    cache_types.values_with_auto, cache_types.window_cache,
    speculation.draft_and_type, pairing.vocabularies, pairing.size, pairing.target_on_cpu,
    speculation.draft_lengths, speculation.synthetic, speculation.ignored_twins, speculation.draft_options_alone,
    context.slots, context.sleeping, context.batches, context.micro_batch_parts, context.trained_context,
    context.whole_context, context.overruled_sharing, context.context_per_slot, context.limit_for_slots,
    context.embedding_batches, context.idle_slots, context.flash_attention,
    network.port, network.half_tls, network.prefix, network.open_address, network.tools_on, network.open_origins,
    network.remote_devices, network.silent_hosts, network.container_port, network.keys, network.live_figures,
    network.shared_port,
    surroundings.config_files, surroundings.variable_names, surroundings.empty_variables, surroundings.unexpanded,
    threads.threads, threads.places,
    threads.priority, tuning.free_cores, tuning.governor, tuning.power_limit, tuning.persistence,
    tuning.memory_banks, surroundings.sudo, surroundings.inherited,
    model_file.remote_file, model_file.locked_memory, model_file.prompt_cache,
)
_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.HINT: 2}


def check(
    plan: Plan,
    model: ModelFile | None,
    engine: Engine | None,
    machine: Machine | None,
    conditions: Conditions | None = None,
) -> list[Issue]:
    """Everything that is wrong with a plan or could be better, worst first.

    `model`, `engine` and `machine` may be None: what depends on them is then not said.
    """
    question = Question(plan, model, engine, machine, conditions or Conditions())
    found = [issue for look in CHECKS for issue in look(question)]
    return sorted(found, key=lambda issue: _RANK[issue.severity])
