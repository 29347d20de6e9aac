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
	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface, record::json->>3 AS asked_model, record::json->>4 AS tier,
	record::json->>5 AS provider, record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens, (record::json->>14)::BIGINT AS output_tokens,
	(record::json->>15)::BIGINT AS reasoning_tokens, record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us,
	record::json->>20 AS provider_key, record::json->>21 AS served_as, record::json->>22 AS server_tools, record::json->>23 AS team_id,
	(record::json->>24)::BIGINT AS written_tokens, record::json->>25 AS tags, record::json->>26 AS end_user
FROM gateway_usage_records;

-- +goose Down
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface, record::json->>3 AS asked_model, record::json->>4 AS tier,
	record::json->>5 AS provider, record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens, (record::json->>14)::BIGINT AS output_tokens,
	(record::json->>15)::BIGINT AS reasoning_tokens, record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us,
	record::json->>20 AS provider_key, record::json->>21 AS served_as, record::json->>22 AS server_tools, record::json->>23 AS team_id
FROM gateway_usage_records;
DROP TABLE gateway_label_days;
DROP TABLE gateway_team_hours;
ALTER TABLE gateway_team_days DROP COLUMN written_tokens;
ALTER TABLE gateway_usage_days DROP COLUMN written_tokens;
ALTER TABLE gateway_usage_hours DROP COLUMN written_tokens;
