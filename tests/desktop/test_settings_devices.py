"""The devices and RPC hosts of Settings: what is shown before anything was asked, and after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from desk_double import GIB, WorkspaceDouble, engine_at
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from paddock.desktop.dock.bars import bars_for
from paddock.desktop.pages.settings.devices import DevicesSection
from paddock.desktop.pages.settings.rpc import RpcSection
from paddock.desktop.state import Desk
from paddock.engine.model import EngineDevice
from paddock.engine.rpc import Greeting
from paddock.errors import AppError
from paddock.hardware.model import Device, DeviceReading, Gpu, Machine, Reading
from paddock.text import Text
from paddock.work import rpc_hosts
from paddock.work.looking import Look
from paddock.work.rpc_server import RpcOptions, RpcState

NAN = float("nan")
CARD = Gpu(0, "GPU-1", "0000:21:00.0", "NVIDIA GeForce RTX 4090", 24 * GIB, "570.00", "12.8", 4, 16)
OTHER = Gpu(1, None, "0000:41:00.0", "NVIDIA A100", 40 * GIB, error=Text("The driver cannot reach this card."))
CUDA = Device("CUDA0", "cuda", "NVIDIA GeForce RTX 4090", 23 * GIB, 20 * GIB, gpu=CARD, listed_total_bytes=23 * GIB,
              listed_free_bytes=21 * GIB, counted_total_bytes=24 * GIB, counted_free_bytes=20 * GIB)
TWIN = replace(CUDA, name="Vulkan0", kind="vulkan", same_as="CUDA0")


def machine(*devices: Device, gpus: tuple[Gpu, ...] = (CARD,)) -> Machine:
    return Machine("Linux", "AMD Ryzen 9 7950X", 16, 32, 64 * GIB, 50 * GIB, 1, 0.4, devices, gpus=gpus)


def words(widget: QWidget) -> str:
    return "\n".join(label.full_text() if hasattr(label, "full_text") else label.text()
                     for label in widget.findChildren(QLabel) if not label.isHidden())


def press(qtbot: Any, widget: QWidget, name: str) -> None:
    """The newest of that name: rows that were built anew leave their old ones to be deleted later."""
    found = [b for b in widget.findChildren(QAbstractButton) if b.accessibleName() == name or b.text() == name]
    qtbot.waitUntil(found[-1].isVisible)
    qtbot.mouseClick(found[-1], Qt.MouseButton.LeftButton)


@pytest.fixture
def devices(qtbot: Any, desk: Desk) -> DevicesSection:
    made = DevicesSection(desk)
    qtbot.addWidget(made)
    made.show()
    return made


def show(section: DevicesSection, desk: Desk, what: Machine) -> None:
    workspace: Any = desk.workspace
    workspace.hardware = what  # the desk reads it anew now and then
    desk.machine = what
    section.refresh()


def test_a_card_of_two_backends_is_said_to_be_one(devices: DevicesSection, desk: Desk) -> None:
    show(devices, desk, machine(CUDA, TWIN))
    assert "memory of its own: 23.00 GiB, 20.00 GiB free" in words(devices)
    assert "the same card as CUDA0" in words(devices)


def test_details_put_engine_driver_and_readings_side_by_side(qtbot: Any, devices: DevicesSection, desk: Desk,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    reading = DeviceReading("CUDA0", 4.0 * GIB, 20.0 * GIB, 0, 87, NAN, 2520, 10501, 311.5, 67, NAN, NAN,
                            ("sw_power_cap",), NAN, 4, 16)
    seen = Look(machine(CUDA), Reading(1, 0, 0, 0, 0, 0, 0, (reading,)), {"CUDA0": {"pcie": Text("It blocks.")}})
    monkeypatch.setattr("paddock.desktop.pages.settings.devices.look_anew", lambda workspace, engine: seen)
    show(devices, desk, machine(CUDA))
    press(qtbot, devices, "Details of CUDA0")
    qtbot.waitUntil(lambda: "87 %" in words(devices))
    for part in ("23.00 GiB, 21.00 GiB free", "24.00 GiB, 20.00 GiB free", "311.5 W", "power limit", "4.0 ×16",
                 "It blocks.", "Memory controller"):
        assert part in words(devices)
    press(qtbot, devices, "Details of CUDA0")
    assert "87 %" not in words(devices)


def test_a_listing_that_failed_shows_what_the_drivers_know(devices: DevicesSection, desk: Desk) -> None:
    desk.engines = [engine_at(devices=(), devices_error=Text("it crashed (SIGSEGV)"))]
    show(devices, desk, machine(gpus=(CARD, OTHER)))
    shown = words(devices)
    for part in ("could not list its devices", "SIGSEGV", "this engine does not list it", "cannot reach this card"):
        assert part in shown
    assert "lists no device beside" not in shown


def test_free_memory_that_nobody_counted_is_an_upper_edge(devices: DevicesSection, desk: Desk) -> None:
    show(devices, desk, machine(replace(CUDA, gpu=None, free_assumed=True), gpus=()))
    assert "≤ 20.00 GiB free" in words(devices)


def test_the_dock_shows_a_card_of_two_backends_once() -> None:
    assert [values.name for values, _ in bars_for(None, machine(CUDA, TWIN))] == ["CUDA0", "Host"]


@pytest.fixture
def rpc(qtbot: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> RpcSection:
    def never(*_: object, **__: object) -> Greeting:
        raise AssertionError("a host was asked without a person's word")

    monkeypatch.setattr(rpc_hosts, "greet", never)
    made = RpcSection(desk)
    desk.settingsChanged.connect(made.refresh)
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_standing_warning_is_there(rpc: RpcSection) -> None:
    assert "ask for no password" in words(rpc)


def test_a_host_is_added_and_forgotten_without_being_asked(qtbot: Any, rpc: RpcSection,
                                                           workspace: WorkspaceDouble) -> None:
    rpc.address.setText("gpubox")
    qtbot.keyClick(rpc.address, Qt.Key.Key_Return)
    assert workspace.settings.rpc_hosts == ["gpubox:50052"]
    assert "Not asked yet." in words(rpc)
    press(qtbot, rpc, "Forget gpubox:50052")
    assert workspace.settings.rpc_hosts == []
    qtbot.waitUntil(lambda: "No host is kept" in words(rpc))


def test_what_is_no_address_is_said_beside_the_field(qtbot: Any, rpc: RpcSection, workspace: WorkspaceDouble) -> None:
    rpc.address.setText("[::1]:50052")
    press(qtbot, rpc, "Add")
    assert "IPv6" in words(rpc)
    assert workspace.settings.rpc_hosts == []
    assert rpc.address.text() == "[::1]:50052"


def test_a_host_that_is_asked_shows_its_devices(qtbot: Any, rpc: RpcSection, desk: Desk,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    desk.engines = [engine_at(flags_verified=False)]
    monkeypatch.setattr(rpc_hosts, "greet", lambda endpoint, **_: Greeting("answers", "7.0.0"))
    monkeypatch.setattr(rpc_hosts, "list_devices",
                        lambda *_, **__: (EngineDevice("RPC0", "gpubox:50052", 24 * GIB, 22 * GIB),))
    rpc.address.setText("gpubox")
    press(qtbot, rpc, "Add")
    press(qtbot, rpc, "Ask gpubox:50052")
    qtbot.waitUntil(lambda: "RPC0, 24.00 GiB, 22.00 GiB free" in words(rpc))
    assert "It answers: protocol 7.0.0." in words(rpc)


def test_a_host_goes_into_the_plan_and_out_of_it(qtbot: Any, rpc: RpcSection, desk: Desk) -> None:
    for name in ("gpubox", "other:7000"):
        rpc.address.setText(name)
        press(qtbot, rpc, "Add")
    press(qtbot, rpc, "Use gpubox:50052 in the plan")
    press(qtbot, rpc, "Use other:7000 in the plan")
    assert desk.plan.get("rpc") == "gpubox:50052,other:7000"
    press(qtbot, rpc, "Take gpubox:50052 out of the plan")
    assert desk.plan.get("rpc") == "other:7000"
    press(qtbot, rpc, "Take other:7000 out of the plan")
    assert desk.plan.get("rpc") is None


def test_the_button_that_was_pressed_keeps_the_focus(qtbot: Any, rpc: RpcSection) -> None:
    rpc.address.setText("gpubox")
    press(qtbot, rpc, "Add")
    rpc.activateWindow()
    button = [b for b in rpc.findChildren(QAbstractButton) if b.accessibleName() == "Use gpubox:50052 in the plan"][-1]
    qtbot.waitUntil(button.isVisible)
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: any(b.hasFocus() and b.accessibleName() == "Take gpubox:50052 out of the plan"
                                for b in rpc.findChildren(QAbstractButton)))


class ServerDouble:
    """A server of ours that comes up, or does not."""

    def __init__(self, options: RpcOptions) -> None:
        self.options, self.state, self.pid, self.problem = options, RpcState.SERVING, 4242, None


def test_this_computer_is_lent_and_taken_back(qtbot: Any, rpc: RpcSection, desk: Desk, workspace: WorkspaceDouble,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    desk.engines = [engine_at(tools={"rpc-server": ("/opt/ggml-rpc-server",)})]
    desk.enginesChanged.emit()
    started: list[RpcOptions] = []

    def start(options: RpcOptions, engine: object, **_: object) -> ServerDouble:
        started.append(options)
        return ServerDouble(options)

    monkeypatch.setattr(workspace.rpc, "start", start)
    monkeypatch.setattr(workspace.rpc, "stop", lambda server: setattr(server, "state", RpcState.STOPPED))
    lending = rpc.lending
    lending.port.setValue(50171)
    lending.threads.setValue(2)
    lending.devices.setText("CUDA0, CPU")
    lending.cache.setChecked(True)
    press(qtbot, lending, "Start")
    qtbot.waitUntil(lambda: "pid 4242" in words(lending))
    assert started == [RpcOptions("127.0.0.1", 50171, 2, ("CUDA0", "CPU"), True)]
    assert not lending.port.isEnabled()
    press(qtbot, lending, "Stop")
    qtbot.waitUntil(lambda: "Not running." in words(lending))
    assert lending.port.isEnabled()


def test_a_server_that_does_not_start_says_why_beside_the_button(qtbot: Any, rpc: RpcSection, desk: Desk,
                                                                 workspace: WorkspaceDouble,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    desk.engines = [engine_at(tools={"rpc-server": ("/opt/ggml-rpc-server",)})]
    desk.enginesChanged.emit()

    def start(*_: object, **__: object) -> None:
        raise AppError(Text("Port {port} is in use.", port=50052))

    monkeypatch.setattr(workspace.rpc, "start", start)
    press(qtbot, rpc.lending, "Start")
    qtbot.waitUntil(lambda: "Port 50052 is in use." in words(rpc.lending))
    assert rpc.lending.act.isEnabled()


def test_an_open_address_warns_before_it_is_opened(rpc: RpcSection, desk: Desk) -> None:
    desk.engines = [engine_at(tools={"rpc-server": ("/opt/ggml-rpc-server",)})]
    desk.enginesChanged.emit()
    rpc.lending.host.setCurrentIndex(1)
    rpc.lending.host.activated.emit(1)
    assert "without a password" in words(rpc.lending)


def test_an_engine_without_rpc_says_what_it_lacks(rpc: RpcSection, desk: Desk) -> None:
    desk.engines = [engine_at()]
    desk.enginesChanged.emit()
    assert "RPC is not in this engine" in words(rpc)
    assert "has no ggml-rpc-server" in words(rpc)
    assert not rpc.lending.act.isEnabled()
