-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE board_webhooks (
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
CREATE TABLE board_webhook_deliveries (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	webhook_id   INTEGER NOT NULL REFERENCES board_webhooks (id) ON DELETE CASCADE,
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
CREATE INDEX board_webhook_deliveries_due ON board_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX board_webhook_deliveries_webhook ON board_webhook_deliveries (webhook_id);
CREATE INDEX board_webhook_deliveries_age ON board_webhook_deliveries (created_at);

-- Threads of which a member is to be mailed. Further posts of a thread widen
-- the row that waits.
CREATE TABLE board_mails (
	id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id       INTEGER NOT NULL REFERENCES board_users (id),
	mode          TEXT    NOT NULL,               -- instant, daily or weekly
	source        TEXT    NOT NULL,               -- thread or forum: what the member follows
	thread_id     INTEGER NOT NULL,
	first_post_id INTEGER NOT NULL,
	last_post_id  INTEGER NOT NULL,
	due_at        INTEGER NOT NULL,
	attempts      INTEGER NOT NULL DEFAULT 0,
	leased_until  INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	UNIQUE (user_id, mode, thread_id)
);
CREATE INDEX board_mails_due ON board_mails (due_at);

CREATE INDEX board_idempotency_age ON board_idempotency (created_at);
CREATE INDEX board_thread_reads_age ON board_thread_reads (read_at);
CREATE INDEX board_notifications_age ON board_notifications (created_at);

-- +goose Down
DROP INDEX board_notifications_age;
DROP INDEX board_thread_reads_age;
DROP INDEX board_idempotency_age;
DROP TABLE board_mails;
DROP TABLE board_webhook_deliveries;
DROP TABLE board_webhooks;
