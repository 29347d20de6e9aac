-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE PREFIX_webhooks (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url             TEXT    NOT NULL,
	topics          TEXT    NOT NULL,             -- words, each between spaces: ' post.created post.held '
	secret          TEXT    NOT NULL,             -- sealed
	enabled         INTEGER NOT NULL DEFAULT 1,
	disabled_reason TEXT    NOT NULL DEFAULT '',
	created_by      TEXT    NOT NULL,
	created_at      INTEGER NOT NULL
);

-- What is to be sent; written with the change that it tells of.
CREATE TABLE PREFIX_webhook_deliveries (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	webhook_id   INTEGER NOT NULL REFERENCES PREFIX_webhooks (id) ON DELETE CASCADE,
	event        TEXT    NOT NULL,                -- the same for all webhooks that are told
	topic        TEXT    NOT NULL,
	body         TEXT    NOT NULL,
	state        TEXT    NOT NULL DEFAULT 'pending',  -- pending, delivered or failed
	attempts     INTEGER NOT NULL DEFAULT 0,
	next_at      INTEGER,                         -- NULL: no more attempts
	leased_until INTEGER NOT NULL DEFAULT 0,      -- a node is at it
	answer       TEXT    NOT NULL DEFAULT '',     -- of the last attempt
	created_at   INTEGER NOT NULL,
	tried_at     INTEGER
);
CREATE INDEX PREFIX_webhook_deliveries_due ON PREFIX_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX PREFIX_webhook_deliveries_webhook ON PREFIX_webhook_deliveries (webhook_id);
CREATE INDEX PREFIX_webhook_deliveries_age ON PREFIX_webhook_deliveries (created_at);

-- +goose Down
DROP TABLE PREFIX_webhook_deliveries;
DROP TABLE PREFIX_webhooks;
