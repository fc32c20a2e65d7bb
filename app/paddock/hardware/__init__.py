"""What is this machine? Facts once (`survey`), readings live (`Readings.read`).

Enters: the engine's device list. Leaves: a `Machine`, and `Reading` values in which whatever is absent is NaN.

Who tells: NVIDIA's library (nvml), AMD's and Intel's Linux drivers by their files (amd, intel), macOS' own programs
(apple); each behind one contract (drivers). Which card a device is: matching. Whose memory it has: sharing. In words,
and why something is not told: telling.
"""

from paddock.hardware.model import Device, DeviceReading, Gpu, GpuProcess, Machine, Reading
from paddock.hardware.readings import Readings
from paddock.hardware.surveying import confirm_from_log, refresh, survey

__all__ = [
    "Device",
    "DeviceReading",
    "Gpu",
    "GpuProcess",
    "Machine",
    "Reading",
    "Readings",
    "confirm_from_log",
    "refresh",
    "survey",
]
