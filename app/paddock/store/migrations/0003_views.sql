-- For people who write SQL: flat tables with everyday names. Times are UTC, MB are MiB; NULL is "not known".
CREATE INDEX device_sample_time ON device_sample(session_id, t);

-- The options of each session's plan as they were set, one row a setting; `value` is its first value, on or off.
CREATE VIEW plan_options AS
SELECT s.id AS session_id,
       j.id AS place,
       CASE WHEN j.type = 'object' THEN json_extract(j.value, '$.option') ELSE j.key END AS option,
       CASE j.type
           WHEN 'object' THEN coalesce(json_extract(j.value, '$.values[0]'),
                                       CASE WHEN json_extract(j.value, '$.on') THEN 'on' ELSE 'off' END)
           WHEN 'array' THEN json_extract(j.value, '$[0]')
           WHEN 'true' THEN 'on'
           WHEN 'false' THEN 'off'
           ELSE j.value
       END AS value
FROM session s, json_each(s.plan, '$.settings') j;

-- One row a request. mtp_enabled: 1 when any speculation was active. context_size: the slot's limit.
-- tps: tokens per second of generation as the server counts them.
CREATE VIEW requests AS
WITH plans AS (
    SELECT session_id,
           max(CASE WHEN option = 'batch-size' THEN CAST(value AS INTEGER) END) AS batch_size,
           max(CASE WHEN option = 'ubatch-size' THEN CAST(value AS INTEGER) END) AS ubatch_size,
           max(CASE WHEN option IN ('spec-draft-model', 'spec-draft-hf') THEN value END) AS draft_model,
           max(option IN ('spec-type', 'spec-default') AND value NOT IN ('none', 'off')) AS speculates
    FROM plan_options GROUP BY session_id)
SELECT r.session_id * 1000000 + r.number AS id,
       strftime('%Y-%m-%dT%H:%M:%f', s.start_utc, printf('%+f seconds', r.t_start)) || '+00:00' AS timestamp,
       s.model,
       r.prompt_tokens,
       r.generated_tokens,
       round(1000.0 * (r.t_end - r.t_start), 3) AS total_latency_ms,
       round(1000.0 * r.ttft_s, 3) AS ttfb_ms,
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
       s.engine,
       s.profile,
       r.session_id,
       r.number,
       r.slot,
       r.t_start,
       r.t_end
FROM request r JOIN session s ON s.id = r.session_id LEFT JOIN plans p ON p.session_id = r.session_id;

-- One row a reading of the machine, about one a second. gpu_mem_used_mb, gpu_power_w: the sum over the session's
-- devices; gpu_util_percent: their mean. cpu_load_avg: percent, the mean over all cores.
-- kv_cache_mb: what is reserved for it, on all devices. Without INDEXED BY a whole session is read for each row.
CREATE VIEW system_metrics AS
SELECT x.session_id * 10000000000 + CAST(round(x.t * 1000) AS INTEGER) AS id,
       strftime('%Y-%m-%dT%H:%M:%f', s.start_utc, printf('%+f seconds', x.t)) || '+00:00' AS timestamp,
       (SELECT sum(d.used_bytes) / 1048576.0 FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_mem_used_mb,
       (SELECT avg(d.utilisation_pct) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_util_percent,
       x.cpu_pct AS cpu_load_avg,
       x.ram_used_bytes / 1048576.0 AS ram_used_mb,
       (SELECT sum(coalesce(json_extract(b.value, '$.context'), 0)) / 1048576.0
        FROM (SELECT value FROM json_each(s.actual, '$.main')
              UNION ALL SELECT value FROM json_each(s.actual, '$.draft')) b) AS kv_cache_mb,
       (SELECT sum(d.power_w) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_power_w,
       (SELECT max(d.temperature_c) FROM device_sample d INDEXED BY device_sample_time
        WHERE d.session_id = x.session_id AND d.t = x.t) AS gpu_temperature_c,
       x.process_rss_bytes / 1048576.0 AS process_ram_mb,
       x.process_cpu_pct AS process_cpu_percent,
       x.swap_used_bytes / 1048576.0 AS swap_used_mb,
       x.generation_per_s AS tps,
       x.context_used,
       s.model,
       x.session_id,
       x.t
FROM system_sample x JOIN session s ON s.id = x.session_id
WHERE x.ram_used_bytes IS NOT NULL OR x.cpu_pct IS NOT NULL;
