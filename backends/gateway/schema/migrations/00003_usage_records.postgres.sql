-- +goose Up
-- A row costs by the number of its values, so what is only read back as a whole
-- becomes one: a JSON array. The view has the columns that there were.
LOCK TABLE gateway_usage; -- other nodes may still write
CREATE TABLE gateway_usage_records (
	id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at      BIGINT NOT NULL, -- Unix microseconds of the request's start
	user_id TEXT   NOT NULL,
	record  TEXT   NOT NULL
);
INSERT INTO gateway_usage_records (id, at, user_id, record) OVERRIDING SYSTEM VALUE
SELECT id, at, user_id, json_build_array(
	request_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts,
	-- An escaped zero byte would keep the whole record from being read.
	CASE failed_attempts WHEN '' THEN '""' ELSE replace(failed_attempts, '\u0000', '\ufffd') END::json, input_tokens, cached_tokens, output_tokens,
	reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us)
FROM gateway_usage ORDER BY id;
SELECT setval(pg_get_serial_sequence('gateway_usage_records', 'id'), max(id)) FROM gateway_usage HAVING max(id) > 0;
DROP TABLE gateway_usage;
CREATE INDEX gateway_usage_records_user ON gateway_usage_records (user_id, id);
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface, record::json->>3 AS asked_model, record::json->>4 AS tier,
	record::json->>5 AS provider, record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens, (record::json->>14)::BIGINT AS output_tokens,
	(record::json->>15)::BIGINT AS reasoning_tokens, record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us
FROM gateway_usage_records;

-- +goose Down
CREATE TABLE gateway_usage_columns (
	id                BIGINT   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at                BIGINT   NOT NULL,
	request_id        TEXT     NOT NULL,
	user_id           TEXT     NOT NULL,
	key_id            TEXT     NOT NULL,
	surface           TEXT     NOT NULL,
	asked_model       TEXT     NOT NULL,
	tier              TEXT     NOT NULL,
	provider          TEXT     NOT NULL,
	model             TEXT     NOT NULL,
	stream            SMALLINT NOT NULL,
	status            BIGINT   NOT NULL,
	code              TEXT     NOT NULL,
	attempts          BIGINT   NOT NULL,
	failed_attempts   TEXT     NOT NULL,
	input_tokens      BIGINT   NOT NULL,
	cached_tokens     BIGINT   NOT NULL,
	output_tokens     BIGINT   NOT NULL,
	reasoning_tokens  BIGINT   NOT NULL,
	usage_source      TEXT     NOT NULL,
	cost_micro_usd    BIGINT,
	latency_us        BIGINT   NOT NULL,
	first_token_us    BIGINT   NOT NULL
);
INSERT INTO gateway_usage_columns (
	id, at, user_id, request_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts, failed_attempts, input_tokens,
	cached_tokens, output_tokens, reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us) OVERRIDING SYSTEM VALUE
SELECT
	id, at, user_id, request_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts, failed_attempts, input_tokens,
	cached_tokens, output_tokens, reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us
FROM gateway_usage ORDER BY id;
SELECT setval(pg_get_serial_sequence('gateway_usage_columns', 'id'), max(id)) FROM gateway_usage HAVING max(id) > 0;
DROP VIEW gateway_usage;
DROP TABLE gateway_usage_records;
ALTER TABLE gateway_usage_columns RENAME TO gateway_usage;
CREATE INDEX gateway_usage_user ON gateway_usage (user_id, id);
