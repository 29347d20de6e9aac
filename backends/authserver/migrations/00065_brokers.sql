-- +goose Up
-- Providers whose tokens are handed on. What config_data holds of a secret is apart, sealed.
CREATE TABLE authserver_brokers (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	slug         TEXT {{bytewise}} NOT NULL UNIQUE,
	display_name TEXT NOT NULL DEFAULT '',
	protocol     TEXT NOT NULL, -- oauth, api_key, service_account
	config       TEXT NOT NULL DEFAULT '{}',
	secret       TEXT NOT NULL DEFAULT '', -- client_secret, sealed; empty: none
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);

-- What people have connected: a credential each for a provider.
CREATE TABLE authserver_connections (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	provider_id TEXT {{bytewise}} NOT NULL REFERENCES authserver_brokers (id) ON DELETE CASCADE,
	credential  TEXT NOT NULL,                -- object, sealed
	scope       TEXT NOT NULL DEFAULT '',     -- what the provider has granted, in its words
	version     BIGINT NOT NULL DEFAULT 1,    -- grows with each credential
	revoked_at  BIGINT NOT NULL DEFAULT 0,    -- when the provider said that it is no longer good
	expires_at  BIGINT NOT NULL DEFAULT 0,    -- of the access token; 0: not known
	lease       TEXT NOT NULL DEFAULT '',     -- who renews it: the refresh token of this version is used
	lease_until BIGINT NOT NULL DEFAULT 0,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, provider_id)
);
CREATE INDEX authserver_connections_provider ON authserver_connections (provider_id);

-- People who are at a provider to connect it.
CREATE TABLE authserver_connecting (
	digest      TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- of what state begins with
	user_id     TEXT {{bytewise}} NOT NULL,
	provider_id TEXT {{bytewise}} NOT NULL,
	return_url  TEXT NOT NULL,
	scope       TEXT NOT NULL, -- what was asked for, in the provider's words
	expires_at  BIGINT NOT NULL
);
CREATE INDEX authserver_connecting_expires ON authserver_connecting (expires_at);

-- +goose Down
DROP TABLE authserver_connecting;
DROP TABLE authserver_connections;
DROP TABLE authserver_brokers;
