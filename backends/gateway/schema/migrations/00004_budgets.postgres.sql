-- +goose Up
-- What a key may be used for: until when, for which models, for how much.
ALTER TABLE gateway_keys ADD COLUMN expires_at BIGINT;          -- NULL: never
ALTER TABLE gateway_keys ADD COLUMN allowed_models TEXT;        -- JSON array of text; NULL: all
ALTER TABLE gateway_keys ADD COLUMN tokens_per_day BIGINT;      -- NULL: unlimited, as the next three
ALTER TABLE gateway_keys ADD COLUMN tokens_per_month BIGINT;
ALTER TABLE gateway_keys ADD COLUMN micro_usd_per_day BIGINT;
ALTER TABLE gateway_keys ADD COLUMN micro_usd_per_month BIGINT;

-- The sums of the usage log, written in the transaction of its records. Each
-- record counts in the row of the candidate that answered it, each attempt that
-- failed in the row of the candidate that failed. Numbers of one record are
-- bounded, so that no sum can overflow. What a node of an older version still
-- writes behind this is in the log only.
LOCK TABLE gateway_usage_records IN SHARE MODE; -- other nodes may still write
CREATE TABLE gateway_usage_hours (
	user_id          TEXT   NOT NULL,
	hour             BIGINT NOT NULL, -- Unix hours
	key_id           TEXT   NOT NULL,
	provider         TEXT   NOT NULL, -- empty: nobody answered
	model            TEXT   NOT NULL,
	tier             TEXT   NOT NULL,
	requests         BIGINT NOT NULL,
	succeeded        BIGINT NOT NULL,
	failed           BIGINT NOT NULL,
	cancelled        BIGINT NOT NULL, -- the client left
	failed_attempts  BIGINT NOT NULL,
	input_tokens     BIGINT NOT NULL,
	cached_tokens    BIGINT NOT NULL,
	output_tokens    BIGINT NOT NULL,
	reasoning_tokens BIGINT NOT NULL,
	cost_micro_usd   BIGINT NOT NULL,
	unpriced         BIGINT NOT NULL, -- answered requests whose price is not known
	latency_us       BIGINT NOT NULL,
	first_token_us   BIGINT NOT NULL,
	first_tokens     BIGINT NOT NULL, -- requests in first_token_us
	PRIMARY KEY (user_id, hour, key_id, provider, model, tier)
);
INSERT INTO gateway_usage_hours
SELECT user_id, hour, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM (
	SELECT user_id, at / 3600000000 AS hour, key_id, provider, model, tier, 1 AS requests, (code = '')::INT AS succeeded,
		(code NOT IN ('', 'client_closed_request'))::INT AS failed, (code = 'client_closed_request')::INT AS cancelled, 0 AS failed_attempts,
		greatest(0, least(input_tokens, 1000000000)) AS input_tokens, greatest(0, least(cached_tokens, 1000000000)) AS cached_tokens,
		greatest(0, least(output_tokens, 1000000000)) AS output_tokens, greatest(0, least(reasoning_tokens, 1000000000)) AS reasoning_tokens,
		greatest(0, least(coalesce(cost_micro_usd, 0), 1000000000)) AS cost_micro_usd, (provider <> '' AND cost_micro_usd IS NULL)::INT AS unpriced,
		greatest(0, least(latency_us, 1000000000000)) AS latency_us, greatest(0, least(first_token_us, 1000000000000)) AS first_token_us,
		(first_token_us > 0)::INT AS first_tokens
	FROM gateway_usage
	UNION ALL
	SELECT user_id, at / 3600000000, key_id, attempt->>'provider', attempt->>'model', tier, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
	FROM gateway_usage, json_array_elements(CASE failed_attempts WHEN '' THEN '[]' ELSE failed_attempts END::json) AS attempt
) AS counted
GROUP BY user_id, hour, key_id, provider, model, tier;

-- The same by the day, for reports over many and for what a key has spent.
CREATE TABLE gateway_usage_days (
	user_id          TEXT   NOT NULL,
	day              BIGINT NOT NULL, -- Unix days
	key_id           TEXT   NOT NULL,
	provider         TEXT   NOT NULL,
	model            TEXT   NOT NULL,
	tier             TEXT   NOT NULL,
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
	PRIMARY KEY (user_id, day, key_id, provider, model, tier)
);
INSERT INTO gateway_usage_days
SELECT user_id, hour / 24, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM gateway_usage_hours GROUP BY 1, 2, 3, 4, 5, 6;
CREATE INDEX gateway_usage_days_key ON gateway_usage_days (key_id, day);

-- How far each writer has come, so that a reader of the sums knows which of its
-- own records are in them.
CREATE TABLE gateway_usage_writers (
	writer  TEXT   NOT NULL PRIMARY KEY,
	records BIGINT NOT NULL, -- it has written
	at      BIGINT NOT NULL
);

-- +goose Down
DROP TABLE gateway_usage_writers;
DROP TABLE gateway_usage_days;
DROP TABLE gateway_usage_hours;
ALTER TABLE gateway_keys DROP COLUMN expires_at;
ALTER TABLE gateway_keys DROP COLUMN allowed_models;
ALTER TABLE gateway_keys DROP COLUMN tokens_per_day;
ALTER TABLE gateway_keys DROP COLUMN tokens_per_month;
ALTER TABLE gateway_keys DROP COLUMN micro_usd_per_day;
ALTER TABLE gateway_keys DROP COLUMN micro_usd_per_month;
