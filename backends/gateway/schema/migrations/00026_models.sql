-- +goose Up
-- The sums by model of all teams together. A report that is not about teams reads a few rows of a day
-- here, and not those of each team.
CREATE TABLE gateway_model_days (
	day              BIGINT NOT NULL, -- Unix days
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
	PRIMARY KEY (day, provider, model)
) {{without rowid}};
INSERT INTO gateway_model_days (day, provider, model, requests, succeeded, failed, cancelled, failed_attempts, input_tokens, cached_tokens, output_tokens,
	reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens, written_tokens)
SELECT day, provider, model, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts), sum(input_tokens),
	sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us), sum(first_token_us),
	sum(first_tokens), sum(written_tokens)
FROM gateway_team_days GROUP BY day, provider, model;
CREATE TABLE gateway_model_hours (
	hour             BIGINT NOT NULL, -- Unix hours
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
	PRIMARY KEY (hour, provider, model)
) {{without rowid}};
INSERT INTO gateway_model_hours (hour, provider, model, requests, succeeded, failed, cancelled, failed_attempts, input_tokens, cached_tokens, output_tokens,
	reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens, written_tokens)
SELECT hour, provider, model, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts), sum(input_tokens),
	sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us), sum(first_token_us),
	sum(first_tokens), sum(written_tokens)
FROM gateway_team_hours GROUP BY hour, provider, model;

-- +goose Down
DROP TABLE gateway_model_hours;
DROP TABLE gateway_model_days;
