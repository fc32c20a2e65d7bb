"""Why figures are missing is said above them."""

from __future__ import annotations

import fakedesk as fake

from paddock.desktop.pages.run.banner import messages_of
from paddock.server.model import Exit, State
from paddock.session.model import Event
from paddock.text import Text

OFF = Event(1.0, "issue", "Metrics are off: start the server with --metrics.", {"id": "sampler.metrics"})


def test_what_is_switched_off_stands_in_the_banner_while_the_server_runs(qapp) -> None:
    run = fake.busy_run()
    run.recorder.events = [OFF, Event(2.0, "issue", "something else", {"id": "other"})]
    assert [(m.tone, m.what) for m in messages_of(run)] == [("warn", OFF.text)]
    run.state, run.exit = State.STOPPED, Exit(0, Text("Stopped."))
    assert OFF.text not in [m.what for m in messages_of(run)]
