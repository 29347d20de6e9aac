-- +goose Up
-- Records say what clients call a request and whom it is for, and how many tokens were written into
-- the provider's cache. There are sums by tag and end user, and by the hour for teams.
ALTER TABLE gateway_usage_hours ADD COLUMN written_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gateway_usage_days ADD COLUMN written_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gateway_team_days ADD COLUMN written_tokens BIGINT NOT NULL DEFAULT 0;
CREATE TABLE gateway_team_hours (
	hour             BIGINT NOT NULL, -- Unix hours
	team_id          TEXT   NOT NULL,
	provider         TEXT   NOT NULL,
	model            TEXT   NOT NULL,
	requests         BIGINT NOT NULL,
	succeeded        BIGINT NOT NULL,
	failed           BIGINT NOT NULL,
	cancelled        BIGINT NOT NULL,
	failed_attempts  BIGINT NOT NULL,
	input_tokens     BIGINT NOT NULL,
	cached_tokens    BIGINT NOT NULL,
	output_tokens    BIGINT NOT NULL,
	reasoning_tokens BIGINT NOT NULL,
	cost_micro_usd   BIGINT NOT NULL,
	unpriced         BIGINT NOT NULL,
	latency_us       BIGINT NOT NULL,
	first_token_us   BIGINT NOT NULL,
	first_tokens     BIGINT NOT NULL,
	written_tokens   BIGINT NOT NULL,
	PRIMARY KEY (hour, team_id, provider, model)
) {{without rowid}};
CREATE TABLE gateway_label_days (
	day              BIGINT NOT NULL, -- Unix days
	kind             TEXT   NOT NULL, -- tag or end_user
	name             TEXT   NOT NULL,
	team_id          TEXT   NOT NULL, -- empty: none
	provider         TEXT   NOT NULL,
	model            TEXT   NOT NULL,
	requests         BIGINT NOT NULL,
	succeeded        BIGINT NOT NULL,
	failed           BIGINT NOT NULL,
	cancelled        BIGINT NOT NULL,
	failed_attempts  BIGINT NOT NULL,
	input_tokens     BIGINT NOT NULL,
	cached_tokens    BIGINT NOT NULL,
	output_tokens    BIGINT NOT NULL,
	reasoning_tokens BIGINT NOT NULL,
	cost_micro_usd   BIGINT NOT NULL,
	unpriced         BIGINT NOT NULL,
	latency_us       BIGINT NOT NULL,
	first_token_us   BIGINT NOT NULL,
	first_tokens     BIGINT NOT NULL,
	written_tokens   BIGINT NOT NULL,
	PRIMARY KEY (day, kind, name, team_id, provider, model)
) {{without rowid}};
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us,
	record->>20 AS provider_key, record->>21 AS served_as, record->>22 AS server_tools, record->>23 AS team_id,
	record->>24 AS written_tokens, record->>25 AS tags, record->>26 AS end_user
FROM gateway_usage_records;

-- +goose Down
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us,
	record->>20 AS provider_key, record->>21 AS served_as, record->>22 AS server_tools, record->>23 AS team_id
FROM gateway_usage_records;
DROP TABLE gateway_label_days;
DROP TABLE gateway_team_hours;
ALTER TABLE gateway_team_days DROP COLUMN written_tokens;
ALTER TABLE gateway_usage_days DROP COLUMN written_tokens;
ALTER TABLE gateway_usage_hours DROP COLUMN written_tokens;
