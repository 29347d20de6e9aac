-- +goose Up
-- What an owner has stored is added up for a quota, from these indexes alone.
ALTER TABLE gateway_response_events ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- empty: not counted
ALTER TABLE gateway_response_events ADD COLUMN size BIGINT NOT NULL DEFAULT 0; -- of what is sealed, in bytes
CREATE INDEX gateway_response_events_owner ON gateway_response_events (owner, size);
DROP INDEX gateway_responses_owner;
CREATE INDEX gateway_responses_owner ON gateway_responses (owner, size);
CREATE INDEX gateway_conversation_items_size ON gateway_conversation_items (conversation, size);

-- +goose Down
DROP INDEX gateway_conversation_items_size;
DROP INDEX gateway_responses_owner;
CREATE INDEX gateway_responses_owner ON gateway_responses (owner);
DROP INDEX gateway_response_events_owner;
ALTER TABLE gateway_response_events DROP COLUMN size;
ALTER TABLE gateway_response_events DROP COLUMN owner;
