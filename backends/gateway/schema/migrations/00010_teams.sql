-- +goose Up
-- Users work in teams. What a request costs counts for the team of its key, or else for
-- the team that its user has by default.
CREATE TABLE gateway_teams (
	id         TEXT   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL UNIQUE,
	created_at BIGINT NOT NULL
);
CREATE TABLE gateway_team_members (
	team_id  TEXT   NOT NULL REFERENCES gateway_teams (id),
	user_id  TEXT   NOT NULL REFERENCES gateway_users (id),
	added_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, user_id)
) {{without rowid}};
CREATE INDEX gateway_team_members_user ON gateway_team_members (user_id, added_at);

ALTER TABLE gateway_users ADD COLUMN team_id TEXT; -- by default; NULL: none
ALTER TABLE gateway_keys ADD COLUMN team_id TEXT;  -- NULL: the one of its user

-- Limits are on a team, with its id as the holder, or on all (organisation), too.
ALTER TABLE gateway_limits ADD COLUMN tokens_per_week BIGINT;
ALTER TABLE gateway_limits ADD COLUMN tokens_total BIGINT;
ALTER TABLE gateway_limits ADD COLUMN micro_usd_per_week BIGINT;
ALTER TABLE gateway_limits ADD COLUMN micro_usd_total BIGINT;
ALTER TABLE gateway_keys ADD COLUMN tokens_per_week BIGINT;
ALTER TABLE gateway_keys ADD COLUMN tokens_total BIGINT;
ALTER TABLE gateway_keys ADD COLUMN micro_usd_per_week BIGINT;
ALTER TABLE gateway_keys ADD COLUMN micro_usd_total BIGINT;

-- The sums of days by team; the requests of no team have an empty team_id.
CREATE TABLE gateway_team_days (
	day              BIGINT NOT NULL, -- Unix days
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
	PRIMARY KEY (day, team_id, provider, model)
) {{without rowid}};
INSERT INTO gateway_team_days
SELECT day, '', provider, model, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts), sum(input_tokens),
	sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us), sum(first_token_us),
	sum(first_tokens)
FROM gateway_usage_days GROUP BY day, provider, model;
CREATE INDEX gateway_team_days_team ON gateway_team_days (team_id, day);

-- +goose Down
DROP TABLE gateway_team_days;
ALTER TABLE gateway_keys DROP COLUMN micro_usd_total;
ALTER TABLE gateway_keys DROP COLUMN micro_usd_per_week;
ALTER TABLE gateway_keys DROP COLUMN tokens_total;
ALTER TABLE gateway_keys DROP COLUMN tokens_per_week;
ALTER TABLE gateway_limits DROP COLUMN micro_usd_total;
ALTER TABLE gateway_limits DROP COLUMN micro_usd_per_week;
ALTER TABLE gateway_limits DROP COLUMN tokens_total;
ALTER TABLE gateway_limits DROP COLUMN tokens_per_week;
ALTER TABLE gateway_keys DROP COLUMN team_id;
ALTER TABLE gateway_users DROP COLUMN team_id;
DROP TABLE gateway_team_members;
DROP TABLE gateway_teams;
