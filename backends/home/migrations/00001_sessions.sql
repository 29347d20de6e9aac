-- +goose Up
-- Who is signed in. user_id is issuer and subject with a line break between; times are Unix microseconds.
CREATE TABLE home_sessions (
	id            {{id}},
	secret_hash   TEXT {{bytewise}} NOT NULL UNIQUE,
	user_id       TEXT {{bytewise}} NOT NULL,
	name          TEXT     NOT NULL DEFAULT '',
	administrator SMALLINT NOT NULL DEFAULT 0,
	created_at    BIGINT   NOT NULL,
	seen_at       BIGINT   NOT NULL,
	confirmed_at  BIGINT   NOT NULL
);
CREATE INDEX home_sessions_user ON home_sessions (user_id);
CREATE INDEX home_sessions_created ON home_sessions (created_at);

-- +goose Down
DROP TABLE home_sessions;
