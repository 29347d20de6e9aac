-- +goose Up
-- What somebody has beside a password.
CREATE TABLE authserver_factors (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id    TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	kind       TEXT NOT NULL, -- app, passkey
	name       TEXT NOT NULL,
	secret     TEXT NOT NULL DEFAULT '', -- of an app, sealed
	step       BIGINT NOT NULL DEFAULT 0, -- of the last code of an app that was used
	credential TEXT NOT NULL DEFAULT '', -- of a passkey: its public key and what it says of itself
	handle     TEXT {{bytewise}} NOT NULL DEFAULT '', -- the id of the credential
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL DEFAULT 0 -- 0: never
);
CREATE INDEX authserver_factors_user ON authserver_factors (user_id, created_at);
CREATE UNIQUE INDEX authserver_factors_handle ON authserver_factors (handle) WHERE handle <> '';

-- Codes for who has lost all of them, each good once.
CREATE TABLE authserver_recovery (
	user_id TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	digest  TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (user_id, digest)
);

CREATE TABLE authserver_attempts (
	key     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE INDEX authserver_attempts_ends ON authserver_attempts (ends_at);

ALTER TABLE authserver_sessions ADD COLUMN methods TEXT NOT NULL DEFAULT ''; -- amr (RFC 8176); empty: another server knows

-- +goose Down
ALTER TABLE authserver_sessions DROP COLUMN methods;
DROP TABLE authserver_attempts;
DROP TABLE authserver_recovery;
DROP TABLE authserver_factors;
