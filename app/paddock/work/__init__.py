"""Do it: the use cases that both faces call.

Enters: a data folder and what a person asked. Leaves: estimates, running sessions, stored rows.
"""
