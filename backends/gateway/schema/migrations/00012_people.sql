-- +goose Up
-- What is known of users beside their ids, as the identity provider says.
ALTER TABLE gateway_users ADD COLUMN email TEXT;         -- confirmed; NULL: not known
ALTER TABLE gateway_users ADD COLUMN name TEXT;          -- NULL: not known
ALTER TABLE gateway_users ADD COLUMN suspended_at BIGINT; -- NULL: active
CREATE INDEX gateway_users_email ON gateway_users (email) WHERE email IS NOT NULL;

-- member, or admin: who adds and removes members of the team.
ALTER TABLE gateway_team_members ADD COLUMN role TEXT NOT NULL DEFAULT 'member';

-- What operators and administrators of teams have changed.
CREATE TABLE gateway_audit (
	id      {{id}},
	at      BIGINT NOT NULL,
	actor   TEXT   NOT NULL, -- the id of a user, or command
	action  TEXT   NOT NULL, -- such as user.suspended
	subject TEXT   NOT NULL, -- the id of what was changed
	details TEXT   NOT NULL  -- a JSON object
);

-- +goose Down
DROP TABLE gateway_audit;
ALTER TABLE gateway_team_members DROP COLUMN role;
DROP INDEX gateway_users_email;
ALTER TABLE gateway_users DROP COLUMN suspended_at;
ALTER TABLE gateway_users DROP COLUMN name;
ALTER TABLE gateway_users DROP COLUMN email;
