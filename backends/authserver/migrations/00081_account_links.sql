-- +goose Up
-- Links that are mailed to users, and the mails that wait to be sent with them.
CREATE TABLE authserver_links (
	id           {{id}},
	kind         TEXT NOT NULL,
	user_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	email        TEXT NOT NULL,
	secret_hash  TEXT {{bytewise}} UNIQUE, -- NULL: the mail has not been sent yet
	expires_at   BIGINT NOT NULL,
	due_at       BIGINT DEFAULT 0, -- when the mail is to be sent; NULL: it has been
	attempts     BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX authserver_links_user ON authserver_links (user_id);
CREATE INDEX authserver_links_due ON authserver_links (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX authserver_links_expires ON authserver_links (expires_at);
CREATE INDEX authserver_users_pending ON authserver_users (created_at) WHERE status = 'pending';

-- +goose Down
DROP INDEX authserver_users_pending;
DROP TABLE authserver_links;
