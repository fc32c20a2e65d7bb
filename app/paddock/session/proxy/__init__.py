"""The recording proxy: a loopback port in front of the server, in a process of its own.

Streams pass through byte for byte, unbuffered, cancellation included; what is learnt of each request comes over a pipe,
so that a busy or hung window never touches a client's stream. No text of a prompt or an answer is kept, unless the
person asks for it (`keep_texts`).
"""

from paddock.session.proxy.record import Exchange
from paddock.session.proxy.supervise import RecordingProxy

__all__ = ["Exchange", "RecordingProxy"]
