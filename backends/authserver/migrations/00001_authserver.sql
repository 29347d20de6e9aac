-- +goose Up
-- Times are Unix microseconds. Lists and objects are JSON. Secrets are digests or
-- ciphertexts, never what was handed out.

CREATE TABLE authserver_clients (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- client_id
	name         TEXT NOT NULL,
	secret       TEXT NOT NULL DEFAULT '', -- scheme and digest; empty: a public client, or one with a key
	auth_method  TEXT NOT NULL,            -- token_endpoint_auth_method
	redirects    TEXT NOT NULL,            -- redirect_uris
	grants       TEXT NOT NULL,            -- grant_types
	responses    TEXT NOT NULL,            -- response_types
	scope        TEXT NOT NULL DEFAULT '', -- the ceiling, words with one blank between; empty: none
	agent        SMALLINT NOT NULL DEFAULT 0,
	agent_text   TEXT NOT NULL DEFAULT '', -- agent_description
	metadata     TEXT NOT NULL DEFAULT '{}', -- the other members of RFC 7591
	status       TEXT NOT NULL,            -- active, suspended, revoked
	source       TEXT NOT NULL,            -- admin, dcr, cimd
	registration TEXT NOT NULL DEFAULT '', -- digest of the registration access token (RFC 7592)
	issued_at    BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);
CREATE INDEX authserver_clients_issued ON authserver_clients (issued_at, id);

CREATE TABLE authserver_users (
	id             TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- sub
	email          TEXT NOT NULL,        -- as it was typed
	email_key      TEXT {{bytewise}} NOT NULL UNIQUE, -- one for all ways to write it
	email_verified SMALLINT NOT NULL DEFAULT 0,
	name           TEXT NOT NULL DEFAULT '',
	password       TEXT NOT NULL DEFAULT '', -- a slow hash; empty: none can be used
	role           TEXT NOT NULL DEFAULT 'user', -- user, admin
	user_groups    TEXT NOT NULL DEFAULT '[]',
	status         TEXT NOT NULL DEFAULT 'active', -- active, disabled
	provider       TEXT NOT NULL DEFAULT 'local', -- local, oidc
	issuer         TEXT NOT NULL DEFAULT '', -- who they are upstream
	subject        TEXT NOT NULL DEFAULT '',
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX authserver_users_created ON authserver_users (created_at, id);
CREATE UNIQUE INDEX authserver_users_upstream ON authserver_users (issuer, subject) WHERE subject <> '';

CREATE TABLE authserver_sessions (
	id           {{id}},
	secret_hash  TEXT {{bytewise}} NOT NULL UNIQUE,
	user_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL -- when they signed in: auth_time
);
CREATE INDEX authserver_sessions_user ON authserver_sessions (user_id, id);
CREATE INDEX authserver_sessions_seen ON authserver_sessions (seen_at);

CREATE TABLE authserver_resources (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	slug         TEXT {{bytewise}} NOT NULL UNIQUE,
	uri          TEXT {{bytewise}} UNIQUE, -- of mint resources
	kind         TEXT NOT NULL, -- backend_kind: mint, broker
	display_name TEXT NOT NULL DEFAULT '',
	scopes       TEXT NOT NULL DEFAULT '[]', -- objects with name, description, upstream
	provider_id  TEXT NOT NULL DEFAULT '', -- of broker resources
	policy       TEXT NOT NULL DEFAULT '{}',
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);

-- What people let a client do with a resource; without one, with this server.
CREATE TABLE authserver_consents (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	client_id   TEXT {{bytewise}} NOT NULL REFERENCES authserver_clients (id) ON DELETE CASCADE,
	resource_id TEXT {{bytewise}} NOT NULL, -- empty: none
	scope       TEXT NOT NULL,
	redirects   TEXT NOT NULL DEFAULT '', -- digest of the redirect URIs at that time
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, client_id, resource_id)
);
CREATE INDEX authserver_consents_client ON authserver_consents (client_id);
CREATE INDEX authserver_consents_resource ON authserver_consents (resource_id);

-- What administrators set while the server runs, such as dcr.mode.
CREATE TABLE authserver_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

-- +goose Down
DROP TABLE authserver_settings;
DROP TABLE authserver_consents;
DROP TABLE authserver_resources;
DROP TABLE authserver_sessions;
DROP TABLE authserver_users;
DROP TABLE authserver_clients;
