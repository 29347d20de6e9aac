-- +goose Up
-- A row costs by the number of its values, so what is only read back as a whole
-- becomes one: a JSON array. The view has the columns that there were.
-- ON CONFLICT FAIL keeps a statement of many rows from journaling each page that
-- it touches. What the statement was part of is rolled back when it fails.
CREATE TABLE gateway_usage_records (
	id      INTEGER PRIMARY KEY,
	at      BIGINT  NOT NULL ON CONFLICT FAIL, -- Unix microseconds of the request's start
	user_id TEXT    NOT NULL ON CONFLICT FAIL,
	record  TEXT    NOT NULL ON CONFLICT FAIL
);
INSERT INTO gateway_usage_records (id, at, user_id, record)
SELECT id, at, user_id, json_array(
	request_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts,
	json(CASE failed_attempts WHEN '' THEN '""' ELSE failed_attempts END), input_tokens, cached_tokens, output_tokens, reasoning_tokens, usage_source,
	cost_micro_usd, latency_us, first_token_us)
FROM gateway_usage ORDER BY id;
DROP TABLE gateway_usage;
CREATE INDEX gateway_usage_records_user ON gateway_usage_records (user_id); -- and the id, which ends every index
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us
FROM gateway_usage_records;

-- +goose Down
CREATE TABLE gateway_usage_columns (
	id                INTEGER  PRIMARY KEY,
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
	cached_tokens, output_tokens, reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us)
SELECT
	id, at, user_id, request_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts, failed_attempts, input_tokens,
	cached_tokens, output_tokens, reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us
FROM gateway_usage ORDER BY id;
DROP VIEW gateway_usage;
DROP TABLE gateway_usage_records;
ALTER TABLE gateway_usage_columns RENAME TO gateway_usage;
CREATE INDEX gateway_usage_user ON gateway_usage (user_id, id);
