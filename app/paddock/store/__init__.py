"""Remember it: settings and profiles as TOML, sessions in SQLite.

Enters: values of the rooms below. Leaves: the same values, later. Written atomically; unknown keys survive.
"""
