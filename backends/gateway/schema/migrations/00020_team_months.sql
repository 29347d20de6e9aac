-- +goose Up
-- The sums of months by team: those of gateway_team_days added up once a month is over, so that
-- a report of a year need not add up hundreds of thousands of rows.
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

-- +goose Down
DROP TABLE gateway_team_months;
