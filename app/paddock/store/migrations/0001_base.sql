-- One row per run of a server; t columns are seconds since its start (monotonic), stamps are UTC.
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    start_utc TEXT NOT NULL,
    end_utc TEXT,
    state TEXT NOT NULL,
    exit_code INTEGER,
    reason TEXT,
    model TEXT,
    model_identity TEXT,
    model_facts TEXT,
    engine TEXT,
    engine_facts TEXT,
    profile TEXT,
    plan TEXT,
    command TEXT NOT NULL,
    environment TEXT NOT NULL,
    machine TEXT,
    estimate TEXT,
    actual TEXT,
    owner_pid INTEGER,
    owner_started REAL,
    label TEXT,
    note TEXT
);
CREATE INDEX session_start ON session(start_utc);
CREATE INDEX session_model ON session(model_identity);

CREATE TABLE request (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    task INTEGER,
    slot INTEGER,
    t_start REAL NOT NULL,
    t_end REAL,
    t_first_token REAL,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    evaluated_tokens INTEGER,
    generated_tokens INTEGER,
    prompt_per_s REAL,
    generation_per_s REAL,
    ttft_s REAL,
    draft_tokens INTEGER,
    accepted_tokens INTEGER,
    context_used INTEGER,
    truncated INTEGER NOT NULL DEFAULT 0,
    is_child INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL,
    source TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (session_id, number)
) WITHOUT ROWID;

CREATE TABLE system_sample (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    t REAL NOT NULL,
    generation_per_s REAL,
    prompt_per_s REAL,
    context_used REAL,
    requests_processing REAL,
    requests_waiting REAL,
    acceptance REAL,
    answered INTEGER NOT NULL,
    sleeping INTEGER NOT NULL,
    cpu_pct REAL,
    ram_used_bytes REAL,
    ram_available_bytes REAL,
    swap_used_bytes REAL,
    process_cpu_pct REAL,
    process_rss_bytes REAL,
    PRIMARY KEY (session_id, t)
) WITHOUT ROWID;

CREATE TABLE device_sample (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    t REAL NOT NULL,
    device TEXT NOT NULL,
    used_bytes REAL,
    free_bytes REAL,
    process_bytes REAL,
    utilisation_pct REAL,
    memory_utilisation_pct REAL,
    sm_clock_mhz REAL,
    memory_clock_mhz REAL,
    power_w REAL,
    temperature_c REAL,
    pcie_rx_bytes_per_s REAL,
    pcie_tx_bytes_per_s REAL,
    throttle TEXT,
    PRIMARY KEY (session_id, device, t)
) WITHOUT ROWID;

CREATE TABLE slot_sample (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    t REAL NOT NULL,
    slot INTEGER NOT NULL,
    phase TEXT NOT NULL,
    task INTEGER,
    context_used REAL,
    context_limit REAL,
    prompt_done REAL,
    generated REAL,
    generation_per_s REAL,
    prompt_per_s REAL,
    PRIMARY KEY (session_id, slot, t)
) WITHOUT ROWID;

CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    t REAL NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT
);
CREATE INDEX event_session ON event(session_id, t);

CREATE TABLE log_excerpt (
    session_id INTEGER PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    text TEXT NOT NULL
);

-- Runs of benchmarks: one row per experiment, one per run; what they hold is their own room's business (JSON).
CREATE TABLE experiment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    start_utc TEXT NOT NULL,
    end_utc TEXT,
    kind TEXT NOT NULL,
    name TEXT,
    state TEXT NOT NULL,
    model_identity TEXT,
    plan TEXT,
    summary TEXT,
    owner_pid INTEGER,
    owner_started REAL
);

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment_id INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    t REAL,
    settings TEXT,
    result TEXT,
    state TEXT NOT NULL,
    UNIQUE (experiment_id, number)
);
