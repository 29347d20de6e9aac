-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE cms_sessions (
	id           {{id}},
	secret_hash  TEXT {{bytewise}} NOT NULL UNIQUE,
	user_id      BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL,
	epoch        BIGINT NOT NULL DEFAULT 0, -- of the user, when it began
	data         TEXT NOT NULL DEFAULT ''   -- an object of JSON; empty: nothing
);
CREATE INDEX cms_sessions_user ON cms_sessions (user_id, id);
CREATE INDEX cms_sessions_seen ON cms_sessions (seen_at);

CREATE TABLE cms_revoked_tokens (
	jti     TEXT {{bytewise}} PRIMARY KEY,
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_revoked_tokens_ends ON cms_revoked_tokens (ends_at);

CREATE TABLE cms_refresh_tokens (
	hash    TEXT {{bytewise}} PRIMARY KEY,
	family  TEXT {{bytewise}} NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	epoch   BIGINT NOT NULL,
	used    BIGINT NOT NULL DEFAULT 0, -- 1: another one has taken its place
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_refresh_tokens_family ON cms_refresh_tokens (family);
CREATE INDEX cms_refresh_tokens_user ON cms_refresh_tokens (user_id);
CREATE INDEX cms_refresh_tokens_ends ON cms_refresh_tokens (ends_at);

CREATE TABLE cms_attempts (
	key     TEXT {{bytewise}} PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_attempts_ends ON cms_attempts (ends_at);

-- +goose Down
DROP TABLE cms_attempts;
DROP TABLE cms_refresh_tokens;
DROP TABLE cms_revoked_tokens;
DROP TABLE cms_sessions;
