"""What happened before: every session, and everything that was recorded of one."""

from paddock.desktop.pages.sessions.page import SessionsPage

__all__ = ["SessionsPage"]
