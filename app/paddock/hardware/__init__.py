"""What is this machine? Facts once (`survey`), readings live (`Readings.read`).

Enters: the engine's device list. Leaves: a `Machine`, and `Reading` values in which whatever is absent is NaN.
"""

from paddock.hardware.model import Device, DeviceReading, Gpu, Machine, Reading

__all__ = ["Device", "DeviceReading", "Gpu", "Machine", "Reading"]
