-- +goose Up
-- Who a user is at the upstream providers of the configuration that they sign in with.
CREATE TABLE authserver_identities (
	id          {{id}},
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	issuer      TEXT {{bytewise}} NOT NULL,
	subject     TEXT {{bytewise}} NOT NULL,
	username    TEXT NOT NULL DEFAULT '',   -- what the provider calls them, by which they recognize it
	user_groups TEXT NOT NULL DEFAULT '[]', -- those that the provider has given them here
	created_at  BIGINT NOT NULL,
	used_at     BIGINT NOT NULL DEFAULT 0,  -- 0: never
	UNIQUE (issuer, subject)
);
CREATE INDEX authserver_identities_user ON authserver_identities (user_id, id);

-- +goose Down
DROP TABLE authserver_identities;
