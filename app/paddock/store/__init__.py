"""Remember it: settings and profiles as TOML, sessions in SQLite.

Enters: values of the rooms below. Leaves: the same values, later. Written atomically; unknown keys survive.

Beside these: `paddock.store.ledger` (what was estimated and what it took), `experiments` (rows of benchmarks),
`carrying` (one session as a file), `keeping` (how long sessions stay).
"""

from paddock.store.database import Database
from paddock.store.profiles import Profile, Profiles
from paddock.store.rows import SessionDetail, SessionStart
from paddock.store.secret import Secrets, resolve_secret
from paddock.store.settings import Settings, load_settings, save_settings

__all__ = [
    "Database",
    "Profile",
    "Profiles",
    "Secrets",
    "SessionDetail",
    "SessionStart",
    "Settings",
    "load_settings",
    "resolve_secret",
    "save_settings",
]
