-- +goose Up
-- Signing keys, where they are kept in the database. Of each algorithm the youngest
-- signs; the others have been rotated when the next one was made.
CREATE TABLE authserver_keys (
	kid        TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- thumbprint of the public key (RFC 7638)
	algorithm  TEXT NOT NULL,
	private    TEXT NOT NULL, -- PKCS #8, sealed
	created_at BIGINT NOT NULL
);

-- What happened, for the audit feed.
CREATE TABLE authserver_audit (
	id         {{id}},
	action     TEXT {{bytewise}} NOT NULL,
	actor_id   TEXT {{bytewise}} NOT NULL DEFAULT '',
	client_id  TEXT {{bytewise}} NOT NULL DEFAULT '',
	ip         TEXT NOT NULL DEFAULT '',
	detail     TEXT NOT NULL DEFAULT '',
	trace_id   TEXT NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
CREATE INDEX authserver_audit_created ON authserver_audit (created_at, id);

-- +goose Down
DROP TABLE authserver_audit;
DROP TABLE authserver_keys;
