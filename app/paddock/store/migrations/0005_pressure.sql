-- What the host is short of beside the load, what a card borrows of RAM, and the link that it uses now.
ALTER TABLE system_sample ADD COLUMN steal_pct REAL;
ALTER TABLE system_sample ADD COLUMN run_queue REAL;
ALTER TABLE system_sample ADD COLUMN disk_read_bytes_per_s REAL;
ALTER TABLE system_sample ADD COLUMN process_read_bytes_per_s REAL;
ALTER TABLE system_sample ADD COLUMN process_faults_per_s REAL;
ALTER TABLE system_sample ADD COLUMN process_swap_bytes REAL;
ALTER TABLE system_sample ADD COLUMN model_cached REAL;
ALTER TABLE device_sample ADD COLUMN shared_used_bytes REAL;
ALTER TABLE device_sample ADD COLUMN pcie_generation REAL;
ALTER TABLE device_sample ADD COLUMN pcie_width REAL;
