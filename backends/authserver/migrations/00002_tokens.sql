-- +goose Up
-- Codes, refresh tokens and the like are digests (SHA-256, base64url).

-- Authorization codes. One that was spent stays for a while: who comes with it again
-- has everything that came of it revoked.
CREATE TABLE authserver_codes (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	family     TEXT {{bytewise}} NOT NULL, -- of what is issued for it
	client_id  TEXT {{bytewise}} NOT NULL,
	user_id    TEXT {{bytewise}} NOT NULL,
	granted    TEXT NOT NULL,              -- object: what was granted
	failures   SMALLINT NOT NULL DEFAULT 0, -- wrong verifiers
	spent_at   BIGINT NOT NULL DEFAULT 0,  -- 0: not yet
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_codes_expires ON authserver_codes (expires_at);

-- A family is all tokens that came of one code: the access tokens, whose jti begins with
-- its id, and the refresh tokens, each of which takes the place of the one before.
CREATE TABLE authserver_families (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	client_id  TEXT {{bytewise}} NOT NULL,
	user_id    TEXT {{bytewise}} NOT NULL,
	granted    TEXT NOT NULL,
	generation BIGINT NOT NULL DEFAULT 0,  -- grows with each refresh
	present    TEXT NOT NULL,              -- the digests of the refresh tokens that are good, with blanks between
	previous   TEXT NOT NULL DEFAULT '',   -- digest of the one that was used last
	graces     SMALLINT NOT NULL DEFAULT 0, -- how often that one was let through again
	rotated_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL DEFAULT 0,  -- 0: it is not
	reason     TEXT NOT NULL DEFAULT ''    -- why it was
);
CREATE INDEX authserver_families_user ON authserver_families (user_id);
CREATE INDEX authserver_families_client ON authserver_families (client_id);
CREATE INDEX authserver_families_expires ON authserver_families (expires_at);

-- The access tokens that were handed out.
CREATE TABLE authserver_issuances (
	id          {{id}},
	jti         TEXT {{bytewise}} NOT NULL UNIQUE,
	family      TEXT {{bytewise}} NOT NULL DEFAULT '', -- empty: of none
	user_id     TEXT {{bytewise}} NOT NULL DEFAULT '', -- empty: of a client alone
	client_id   TEXT {{bytewise}} NOT NULL,
	consent_client_id TEXT NOT NULL DEFAULT '',
	resource_id TEXT NOT NULL DEFAULT '',
	scope       TEXT NOT NULL DEFAULT '',
	kind        TEXT NOT NULL DEFAULT 'mint', -- backend_kind
	parent_jti  TEXT NOT NULL DEFAULT '',
	jkt         TEXT NOT NULL DEFAULT '',
	agent_id    TEXT NOT NULL DEFAULT '',
	agent_chain TEXT NOT NULL DEFAULT '',
	issued_at   BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	revoked_at  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX authserver_issuances_family ON authserver_issuances (family) WHERE family <> '';
CREATE INDEX authserver_issuances_client ON authserver_issuances (client_id, id);
CREATE INDEX authserver_issuances_user ON authserver_issuances (user_id, id) WHERE user_id <> '';

-- What is no longer good although it has not expired: the jti of an access token, or
-- the id of a family, which stands for all of its.
CREATE TABLE authserver_denied (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	at         BIGINT NOT NULL,
	expires_at BIGINT NOT NULL -- from when on nothing of it lives anyway
);
CREATE INDEX authserver_denied_at ON authserver_denied (at);

-- +goose Down
DROP TABLE authserver_denied;
DROP TABLE authserver_issuances;
DROP TABLE authserver_families;
DROP TABLE authserver_codes;
