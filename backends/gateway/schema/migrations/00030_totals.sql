-- +goose Up
-- Running totals: what each user, each key, and each team with each model had spent before a day began. What was spent
-- between two days is the difference of two of them, however long the time is. The totals of day 2147483647 are of all
-- days and change with the log; a job adds those of days that are over. They replace the sums of months.
CREATE TABLE gateway_user_totals (
	day              BIGINT NOT NULL, -- Unix day; the totals are of the days before it
	user_id          TEXT   NOT NULL,
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
	PRIMARY KEY (day, user_id)
) {{without rowid}};
INSERT INTO gateway_user_totals (day, user_id, requests, succeeded, failed, cancelled, failed_attempts, input_tokens,
	cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens,
	written_tokens)
SELECT 2147483647, user_id, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced),
	sum(latency_us), sum(first_token_us), sum(first_tokens), sum(written_tokens)
FROM gateway_usage_days GROUP BY user_id;
CREATE TABLE gateway_key_totals (
	day              BIGINT NOT NULL, -- Unix day; the totals are of the days before it
	key_id           TEXT   NOT NULL,
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
	PRIMARY KEY (day, key_id)
) {{without rowid}};
INSERT INTO gateway_key_totals (day, key_id, requests, succeeded, failed, cancelled, failed_attempts, input_tokens,
	cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd, unpriced, latency_us, first_token_us, first_tokens,
	written_tokens)
SELECT 2147483647, key_id, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced),
	sum(latency_us), sum(first_token_us), sum(first_tokens), sum(written_tokens)
FROM gateway_usage_days GROUP BY key_id;
CREATE TABLE gateway_team_totals (
	day              BIGINT NOT NULL, -- Unix day; the totals are of the days before it
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
	PRIMARY KEY (day, team_id, provider, model)
) {{without rowid}};
INSERT INTO gateway_team_totals (day, team_id, provider, model, requests, succeeded, failed, cancelled,
	failed_attempts, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd, unpriced, latency_us,
	first_token_us, first_tokens, written_tokens)
SELECT 2147483647, team_id, provider, model, sum(requests), sum(succeeded), sum(failed), sum(cancelled),
	sum(failed_attempts), sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens),
	sum(cost_micro_usd), sum(unpriced), sum(latency_us), sum(first_token_us), sum(first_tokens), sum(written_tokens)
FROM gateway_team_days GROUP BY team_id, provider, model;
DROP TABLE gateway_team_months;

-- +goose Down
CREATE TABLE gateway_team_months (
	month            BIGINT NOT NULL, -- the Unix day that it begins with
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
	PRIMARY KEY (month, team_id, provider, model)
) {{without rowid}};
DROP TABLE gateway_team_totals;
DROP TABLE gateway_key_totals;
DROP TABLE gateway_user_totals;
