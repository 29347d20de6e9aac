-- +goose Up
-- Who asks, and what they may.
CREATE TABLE answer_accounts (
	id          {{id}},
	name        TEXT {{bytewise}} NOT NULL UNIQUE,
	total_limit BIGINT NOT NULL, -- answers in a window
	created_at  BIGINT NOT NULL
);

CREATE TABLE answer_keys (
	id         {{id}},
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	label      TEXT NOT NULL,
	lookup     TEXT {{bytewise}} NOT NULL UNIQUE,
	digest     TEXT {{bytewise}} NOT NULL, -- SHA-256 of the secret
	services   TEXT NOT NULL,              -- answer, quota, with spaces between
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL DEFAULT 0,  -- 0: never
	revoked_at BIGINT NOT NULL DEFAULT 0   -- 0: it is not
);
CREATE INDEX answer_keys_account ON answer_keys (account_id, id);

-- The accepted questions of the last minute, for the exact rate.
CREATE TABLE answer_accepted (
	key_id BIGINT NOT NULL REFERENCES answer_keys (id) ON DELETE CASCADE,
	at     BIGINT NOT NULL,
	answer TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (key_id, at, answer)
) {{without rowid}};

-- The quota of an account by its windows.
CREATE TABLE answer_windows (
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	began      BIGINT NOT NULL,
	ends       BIGINT NOT NULL,
	used       BIGINT NOT NULL DEFAULT 0,
	pending    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, began)
) {{without rowid}};

-- What is pending: a crash leaves a lease that ends.
CREATE TABLE answer_reservations (
	answer     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	began      BIGINT NOT NULL, -- of the window
	lease      BIGINT NOT NULL
) {{without rowid}};
CREATE INDEX answer_reservations_lease ON answer_reservations (account_id, lease);

CREATE TABLE answer_answers (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	key_id     BIGINT NOT NULL,
	status     TEXT NOT NULL,             -- pending, done, failed
	code       INTEGER NOT NULL DEFAULT 0,  -- of HTTP
	reason     TEXT NOT NULL DEFAULT '',    -- why there is no answer
	body       TEXT NOT NULL DEFAULT '',    -- the result, sealed where there is a keyring
	trace      TEXT NOT NULL DEFAULT '',    -- as the body
	once_key   TEXT {{bytewise}} NULL,      -- Idempotency-Key
	once_hash  TEXT {{bytewise}} NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX answer_answers_once ON answer_answers (account_id, once_key);
CREATE INDEX answer_answers_age ON answer_answers (created_at);

-- +goose Down
DROP TABLE answer_answers;
DROP TABLE answer_reservations;
DROP TABLE answer_windows;
DROP TABLE answer_accepted;
DROP TABLE answer_keys;
DROP TABLE answer_accounts;
