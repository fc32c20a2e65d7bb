-- What the recording proxy saw: one row an exchange of a client with the server. Times in seconds from its arrival.
CREATE TABLE exchange (
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    start_utc TEXT NOT NULL,
    t_start REAL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    generates INTEGER NOT NULL,
    client TEXT,
    user_agent TEXT,
    model TEXT,
    settings TEXT,
    images INTEGER,
    request_bytes INTEGER,
    response_bytes INTEGER,
    status INTEGER,
    first_byte_s REAL,
    first_token_s REAL,
    total_s REAL,
    client_wait_s REAL,
    gap_median_s REAL,
    gap_p95_s REAL,
    gap_longest_s REAL,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    evaluated_tokens INTEGER,
    generated_tokens INTEGER,
    reasoning_chunks INTEGER,
    reused TEXT,
    prompt_per_s REAL,
    generation_per_s REAL,
    draft_tokens INTEGER,
    accepted_tokens INTEGER,
    slot INTEGER,
    finish TEXT,
    outcome TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;

-- Only with the person's word, given for one session.
CREATE TABLE exchange_text (
    session_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    request TEXT,
    response TEXT,
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, id) REFERENCES exchange(session_id, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The exchange that a request came with; several may come with one (a batch of inputs, n > 1).
ALTER TABLE request ADD COLUMN exchange INTEGER;
-- Milliseconds of the projector for its images.
ALTER TABLE request ADD COLUMN image_ms REAL;
-- A JSON array of words.
ALTER TABLE session ADD COLUMN tags TEXT;

-- One row a request, and one for each exchange that never became one (refused, failed, lost before a slot took it).
-- mtp_enabled: 1 when any speculation was active. context_size: the slot's limit. tps: generation as the server counts
-- it. ttfb_ms: to the first byte as the client's side saw it, else to the first token as the log tells it.
DROP VIEW requests;
CREATE VIEW requests AS
WITH plans AS (
    SELECT session_id,
           max(CASE WHEN option = 'batch-size' THEN CAST(value AS INTEGER) END) AS batch_size,
           max(CASE WHEN option = 'ubatch-size' THEN CAST(value AS INTEGER) END) AS ubatch_size,
           max(CASE WHEN option IN ('spec-draft-model', 'spec-draft-hf') THEN value END) AS draft_model,
           max(option IN ('spec-type', 'spec-default') AND value NOT IN ('none', 'off')) AS speculates
    FROM plan_options GROUP BY session_id),
told AS (
    SELECT r.session_id, r.number, r.exchange, r.slot, r.t_start, r.t_end, r.prompt_tokens, r.cached_tokens,
           r.generated_tokens, r.prompt_per_s, r.generation_per_s, r.ttft_s, r.draft_tokens, r.accepted_tokens,
           r.context_used, r.truncated, r.is_child, r.status, r.error, r.image_ms, r.source
    FROM request r
    UNION ALL
    SELECT e.session_id, NULL, e.id, e.slot, e.t_start, e.t_start + e.total_s, e.prompt_tokens, e.cached_tokens,
           e.generated_tokens, e.prompt_per_s, e.generation_per_s, e.first_token_s, e.draft_tokens, e.accepted_tokens,
           NULL, 0, 0, e.outcome, e.error, NULL, 'proxy'
    FROM exchange e
    WHERE e.generates AND e.outcome <> 'active' AND e.t_start IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM request r WHERE r.session_id = e.session_id AND r.exchange = e.id))
SELECT CASE WHEN r.number IS NULL THEN -1 ELSE 1 END * (r.session_id * 1000000 + coalesce(r.number, r.exchange)) AS id,
       strftime('%Y-%m-%dT%H:%M:%f', s.start_utc, printf('%+f seconds', r.t_start)) || '+00:00' AS timestamp,
       s.model,
       r.prompt_tokens,
       r.generated_tokens,
       round(1000.0 * (r.t_end - r.t_start), 3) AS total_latency_ms,
       round(1000.0 * coalesce(e.first_byte_s, r.ttft_s), 3) AS ttfb_ms,
       r.generation_per_s AS tps,
       CASE WHEN r.draft_tokens > 0 THEN 1
            WHEN s.plan IS NULL THEN NULL
            WHEN coalesce(p.speculates, 0) THEN 1
            ELSE coalesce(json_extract(s.environment, '$.LLAMA_ARG_SPEC_TYPE'), 'none') <> 'none'
       END AS mtp_enabled,
       coalesce(json_extract(s.actual, '$.n_ctx_slot'),
                (SELECT CAST(l.context_limit AS INTEGER) FROM slot_sample l
                 WHERE l.session_id = r.session_id AND l.slot = r.slot AND l.context_limit > 0
                 ORDER BY l.t LIMIT 1)) AS context_size,
       p.batch_size,
       CASE WHEN r.draft_tokens > 0 THEN 1.0 * r.accepted_tokens / r.draft_tokens END AS acceptance_rate,
       p.draft_model,
       r.status,
       r.context_used,
       r.cached_tokens,
       r.prompt_per_s AS prompt_tps,
       r.draft_tokens,
       r.accepted_tokens,
       p.ubatch_size,
       r.truncated,
       r.is_child,
       r.error,
       round(1000.0 * r.ttft_s, 3) AS ttft_ms,
       r.image_ms,
       e.path AS endpoint,
       e.client,
       e.user_agent,
       e.model AS asked_model,
       e.status AS http_status,
       e.finish AS finish_reason,
       e.settings,
       e.images,
       e.reasoning_chunks,
       e.reused,
       round(1000.0 * e.first_token_s, 3) AS client_ttft_ms,
       round(1000.0 * e.total_s, 3) AS client_total_ms,
       round(1000.0 * e.client_wait_s, 3) AS client_wait_ms,
       round(1000.0 * e.gap_median_s, 3) AS gap_median_ms,
       round(1000.0 * e.gap_p95_s, 3) AS gap_p95_ms,
       round(1000.0 * e.gap_longest_s, 3) AS gap_longest_ms,
       r.source,
       s.engine,
       s.profile,
       r.session_id,
       r.number,
       r.exchange,
       r.slot,
       r.t_start,
       r.t_end
FROM told r
JOIN session s ON s.id = r.session_id
LEFT JOIN plans p ON p.session_id = r.session_id
LEFT JOIN exchange e ON e.session_id = r.session_id AND e.id = r.exchange;

-- As before, but kv_cache_mb is the share of the reserved cache whose cells are in use (each cell taken to cost the
-- same), kv_reserved_mb what is reserved for it on all devices.
DROP VIEW system_metrics;
CREATE VIEW system_metrics AS
WITH reserved AS (
    SELECT s.id AS session_id,
           (SELECT sum(coalesce(json_extract(b.value, '$.context'), 0)) / 1048576.0
            FROM (SELECT value FROM json_each(s.actual, '$.main')
                  UNION ALL SELECT value FROM json_each(s.actual, '$.draft')) b) AS mb,
           json_extract(s.actual, '$.n_ctx_slot')
               * CASE WHEN json_extract(s.actual, '$.kv_unified') THEN 1
                      ELSE coalesce(json_extract(s.actual, '$.n_slots'), 1) END AS cells
    FROM session s)
SELECT x.session_id * 10000000000 + CAST(round(x.t * 1000) AS INTEGER) AS id,
       strftime('%Y-%m-%dT%H:%M:%f', s.start_utc, printf('%+f seconds', x.t)) || '+00:00' AS timestamp,
       (SELECT sum(d.used_bytes) / 1048576.0 FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_mem_used_mb,
       (SELECT avg(d.utilisation_pct) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_util_percent,
       x.cpu_pct AS cpu_load_avg,
       x.ram_used_bytes / 1048576.0 AS ram_used_mb,
       r.mb * min(1.0, x.context_used / r.cells) AS kv_cache_mb,
       (SELECT sum(d.power_w) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_power_w,
       (SELECT max(d.temperature_c) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_temperature_c,
       r.mb AS kv_reserved_mb,
       x.process_rss_bytes / 1048576.0 AS process_ram_mb,
       x.process_cpu_pct AS process_cpu_percent,
       x.swap_used_bytes / 1048576.0 AS swap_used_mb,
       x.generation_per_s AS tps,
       x.context_used,
       s.model,
       x.session_id,
       x.t
FROM system_sample x JOIN session s ON s.id = x.session_id JOIN reserved r ON r.session_id = s.id
WHERE x.ram_used_bytes IS NOT NULL OR x.cpu_pct IS NOT NULL;
