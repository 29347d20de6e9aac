-- +goose Up
-- Items of answers, to which clients refer in their next requests.
CREATE TABLE gateway_answer_items (
	id         TEXT   NOT NULL PRIMARY KEY, -- owner, a slash, and the id that the client knows
	owner      TEXT   NOT NULL,             -- the gateway key
	sealed     TEXT   NOT NULL,
	size       BIGINT NOT NULL,             -- of the item, in bytes
	expires_at BIGINT NOT NULL              -- Unix microseconds
);
-- The newest of an owner stay within bounds; what has expired is deleted.
CREATE INDEX gateway_answer_items_owner ON gateway_answer_items (owner, expires_at, id, size);
CREATE INDEX gateway_answer_items_expires ON gateway_answer_items (expires_at);

-- +goose Down
DROP TABLE gateway_answer_items;
