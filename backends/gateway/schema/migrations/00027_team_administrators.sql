-- +goose Up
-- What the members of a team spend, for its administrators. Requests from before are not in it.
CREATE TABLE gateway_member_days (
	team_id          TEXT   NOT NULL,
	day              BIGINT NOT NULL, -- Unix days
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
	PRIMARY KEY (team_id, day, user_id)
) {{without rowid}};

-- The team that a change concerns; NULL: none.
ALTER TABLE gateway_audit ADD COLUMN team_id TEXT;
UPDATE gateway_audit SET team_id = subject WHERE action LIKE 'team.%' OR action LIKE 'member.%';
CREATE INDEX gateway_audit_team ON gateway_audit (team_id, id) WHERE team_id IS NOT NULL;

-- +goose Down
DROP INDEX gateway_audit_team;
ALTER TABLE gateway_audit DROP COLUMN team_id;
DROP TABLE gateway_member_days;
