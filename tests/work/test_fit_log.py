"""What --fit did, from the lines of builds 11434 and 10434."""

from __future__ import annotations

from paddock.work.fit_log import read

HEAD = "0.01.000.000 I common_params_fit_impl: "


def test_a_plan_that_fits_leaves_nothing_to_tell() -> None:
    assert read([HEAD + "  - RPC0 (127.0.0.1:50871):  24105 total,    121 used,  23984 free vs. target of   1024",
                 HEAD + "targets for free memory can be met on all devices, no changes needed",
                 "0.01.551.046 I common_fit_params: successfully fit params to free device memory"]) is None
    assert read([]) is None


def test_a_smaller_context_and_fewer_layers() -> None:
    found = read([
        HEAD + "cannot meet free memory targets on all devices, need to use 184 MiB less in total",
        HEAD + "context size reduced from 32768 to 4096 -> need 300 MiB less memory in total",
        HEAD + "  - RPC1 (127.0.0.1:50872): 12 layers,    217 MiB used,  23888 MiB free",
        HEAD + "  - RPC0 (127.0.0.1:50871):  5 layers (1 overflowing),    100 MiB used,  24005 MiB free",
        "0.02.000.000 I common_fit_params: successfully fit params to free device memory",
        "0.02.648.415 I load_tensors: offloaded 17/19 layers to GPU",
        "0.03.900.000 I llama_context: n_ctx         = 4096",
    ])
    assert found is not None
    assert found.changed
    assert found.context == (32768, 4096)
    assert dict(found.layers) == {"RPC1": 12, "RPC0": 5}
    assert (found.final_context, found.offloaded) == (4096, (17, 19))
    assert str(found.text) == "--fit changed the plan: context 32,768 → 4,096, layers RPC1 12, RPC0 5."
    assert found.as_dict()["layers"] == {"RPC1": 12, "RPC0": 5}


def test_why_it_could_not_help() -> None:
    found = read(["0.01.0.0 W common_fit_params: failed to fit params to free device memory: n_gpu_layers already set "
                  "by user to 99, abort"])
    assert found is not None
    assert not found.changed
    assert "already set by user to 99" in str(found.text)
