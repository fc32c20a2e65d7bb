-- Estimate against reality: one row per launch, device, role (main, draft) and term. Bytes. Never a projection.
CREATE TABLE ledger (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    model_identity TEXT NOT NULL,
    engine TEXT NOT NULL,
    engine_version TEXT NOT NULL,
    backends TEXT NOT NULL,
    device TEXT NOT NULL,
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    term TEXT NOT NULL,
    estimated INTEGER NOT NULL,
    low INTEGER NOT NULL,
    high INTEGER NOT NULL,
    shown INTEGER NOT NULL,
    actual INTEGER NOT NULL,
    forgotten INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, device, role, term)
) WITHOUT ROWID;
CREATE INDEX ledger_model ON ledger(model_identity, engine, engine_version);
