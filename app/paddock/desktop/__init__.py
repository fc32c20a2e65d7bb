"""Show it: the window. The only room that knows Qt.

In: a `work.Workspace`. Out: what a person sees and does. Pages are QWidgets `Page(desk)` with `title` and `icon`; edits
go view → plan → desk → preview → views, never the other way round.
"""
