-- +goose Up
-- Identity providers whose assertions (ID-JAG) are taken for tokens.
CREATE TABLE authserver_idps (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	issuer     TEXT {{bytewise}} NOT NULL UNIQUE,
	jwks_uri   TEXT NOT NULL DEFAULT '', -- empty: that of its discovery document
	audience   TEXT NOT NULL DEFAULT '', -- empty: the issuer of this server
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

-- What its assertions may be used for; an empty list: anything.
CREATE TABLE authserver_xaa_policies (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	idp_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	client_ids TEXT NOT NULL,
	scopes     TEXT NOT NULL,
	resources  TEXT NOT NULL,
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX authserver_xaa_policies_idp ON authserver_xaa_policies (idp_id);

-- Who a subject of an identity provider is here.
CREATE TABLE authserver_xaa_subjects (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	idp_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	idp_subject TEXT {{bytewise}} NOT NULL,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at  BIGINT NOT NULL,
	UNIQUE (idp_id, idp_subject)
);
CREATE INDEX authserver_xaa_subjects_user ON authserver_xaa_subjects (user_id);

-- +goose Down
DROP TABLE authserver_xaa_subjects;
DROP TABLE authserver_xaa_policies;
DROP TABLE authserver_idps;
