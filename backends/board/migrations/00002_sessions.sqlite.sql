-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE board_sessions (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	secret_hash  TEXT    NOT NULL UNIQUE,  -- SHA-256 of the cookie, hex
	user_id      INTEGER NOT NULL REFERENCES board_users (id),
	created_at   INTEGER NOT NULL,
	seen_at      INTEGER NOT NULL,
	confirmed_at INTEGER NOT NULL          -- when the password was given last
);
CREATE INDEX board_sessions_user ON board_sessions (user_id);
CREATE INDEX board_sessions_seen ON board_sessions (seen_at);

-- Counts what is bounded by account and address: logins that failed, registrations.
CREATE TABLE board_attempts (
	key     TEXT    NOT NULL PRIMARY KEY,    -- a hash
	tries   INTEGER NOT NULL,
	ends_at INTEGER NOT NULL                 -- when the count starts anew
);
CREATE INDEX board_attempts_ends ON board_attempts (ends_at);

-- +goose Down
DROP TABLE board_attempts;
DROP TABLE board_sessions;
