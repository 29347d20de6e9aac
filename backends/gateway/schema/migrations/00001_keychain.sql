-- +goose Up
-- Times are Unix microseconds. A sealed column holds text of the keyring.
CREATE TABLE gateway_users (
	id         TEXT   NOT NULL PRIMARY KEY,
	created_at BIGINT NOT NULL
);

CREATE TABLE gateway_keys (
	id                    TEXT     NOT NULL PRIMARY KEY,
	user_id               TEXT     NOT NULL REFERENCES gateway_users (id),
	hash                  TEXT     NOT NULL UNIQUE, -- SHA-256 of the key, hex
	masked                TEXT     NOT NULL,
	label                 TEXT     NOT NULL,
	is_primary            SMALLINT NOT NULL,
	rate_limit_per_minute BIGINT,                   -- NULL: unlimited
	effort_mode           TEXT     NOT NULL,
	created_at            BIGINT   NOT NULL,
	revoked_at            BIGINT,
	last_used_at          BIGINT
);
CREATE INDEX gateway_keys_user ON gateway_keys (user_id, created_at, id);

CREATE TABLE gateway_provider_keys (
	id         TEXT   NOT NULL PRIMARY KEY,
	user_id    TEXT   NOT NULL REFERENCES gateway_users (id),
	provider   TEXT   NOT NULL,
	label      TEXT   NOT NULL,
	sealed     TEXT   NOT NULL,
	masked     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX gateway_provider_keys_user ON gateway_provider_keys (user_id, created_at, id);

-- What a user changed of the catalog (is_custom 0), and models of their own.
CREATE TABLE gateway_models (
	id          TEXT     NOT NULL PRIMARY KEY,
	user_id     TEXT     NOT NULL REFERENCES gateway_users (id),
	model_entry TEXT     NOT NULL,  -- provider/model, as clients name it
	is_custom   SMALLINT NOT NULL,
	enabled     SMALLINT NOT NULL,
	priority    BIGINT,             -- lower is tried earlier; NULL: the catalog's order
	tier        TEXT,               -- custom: low, medium or high
	base_url    TEXT,               -- custom
	model       TEXT,               -- custom: the upstream's name
	sealed      TEXT,               -- custom: its key, when it needs one
	created_at  BIGINT   NOT NULL,
	UNIQUE (user_id, model_entry)
);

CREATE TABLE gateway_preferences (
	user_id             TEXT NOT NULL PRIMARY KEY REFERENCES gateway_users (id),
	preferred_providers TEXT NOT NULL, -- JSON arrays of text
	excluded_providers  TEXT NOT NULL,
	excluded_models     TEXT NOT NULL
);

-- +goose Down
DROP TABLE gateway_preferences;
DROP TABLE gateway_models;
DROP TABLE gateway_provider_keys;
DROP TABLE gateway_keys;
DROP TABLE gateway_users;
