-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE PREFIX_webhooks (
	id              {{id}},
	url             TEXT   NOT NULL,
	topics          TEXT   NOT NULL,             -- words, each between spaces: ' post.created post.held '
	secret          TEXT   NOT NULL,             -- sealed
	enabled         BIGINT NOT NULL DEFAULT 1,
	disabled_reason TEXT   NOT NULL DEFAULT '',
	created_by      TEXT   NOT NULL,
	created_at      BIGINT NOT NULL
);

-- What is to be sent; written with the change that it tells of.
CREATE TABLE PREFIX_webhook_deliveries (
	id           {{id}},
	webhook_id   BIGINT NOT NULL REFERENCES PREFIX_webhooks (id) ON DELETE CASCADE,
	event        TEXT   NOT NULL,                -- the same for all webhooks that are told
	topic        TEXT   NOT NULL,
	body         TEXT   NOT NULL,
	state        TEXT   NOT NULL DEFAULT 'pending',  -- pending, delivered or failed
	attempts     BIGINT NOT NULL DEFAULT 0,
	next_at      BIGINT,                         -- NULL: no more attempts
	leased_until BIGINT NOT NULL DEFAULT 0,      -- a node is at it
	answer       TEXT   NOT NULL DEFAULT '',     -- of the last attempt
	created_at   BIGINT NOT NULL,
	tried_at     BIGINT
);
CREATE INDEX PREFIX_webhook_deliveries_due ON PREFIX_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX PREFIX_webhook_deliveries_webhook ON PREFIX_webhook_deliveries (webhook_id);
CREATE INDEX PREFIX_webhook_deliveries_age ON PREFIX_webhook_deliveries (created_at);

-- +goose Down
DROP TABLE PREFIX_webhook_deliveries;
DROP TABLE PREFIX_webhooks;
