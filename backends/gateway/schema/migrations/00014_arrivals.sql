-- +goose Up
-- People may wait for an operator's approval, and teams have keys of their own, which are
-- those of a user with the id of the team.
ALTER TABLE gateway_users ADD COLUMN waiting_since BIGINT;           -- NULL: let in
ALTER TABLE gateway_users ADD COLUMN is_service INTEGER NOT NULL DEFAULT 0;
-- 1: a rule put the member into the team, and takes them out of it again.
ALTER TABLE gateway_team_members ADD COLUMN by_rule INTEGER NOT NULL DEFAULT 0;

CREATE TABLE gateway_invitations (
	id          TEXT   NOT NULL PRIMARY KEY,
	hash        TEXT   NOT NULL UNIQUE, -- SHA-256 of the token in the link
	email       TEXT   NOT NULL,
	team_id     TEXT,                   -- NULL: as the rules say
	role        TEXT   NOT NULL,        -- in the team
	created_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	accepted_at BIGINT,                 -- NULL: it is open
	accepted_by TEXT
);

-- +goose Down
DROP TABLE gateway_invitations;
ALTER TABLE gateway_team_members DROP COLUMN by_rule;
ALTER TABLE gateway_users DROP COLUMN is_service;
ALTER TABLE gateway_users DROP COLUMN waiting_since;
