-- +goose Up
-- Answers of the Responses API that clients have stored. What is said in them is sealed.
CREATE TABLE gateway_responses (
	id           TEXT   NOT NULL PRIMARY KEY,
	owner        TEXT   NOT NULL, -- a team or a user
	previous     TEXT,            -- the response that it continues
	depth        BIGINT NOT NULL, -- 1, or one more than that of previous
	status       TEXT   NOT NULL,
	background   BIGINT NOT NULL,
	events       BIGINT NOT NULL, -- 1: its events are kept
	runner       TEXT   NOT NULL, -- the process that works on it in the background
	leased_until BIGINT NOT NULL, -- Unix microseconds; when nobody has said so since, the process is gone
	sealed       TEXT   NOT NULL,
	size         BIGINT NOT NULL, -- of what is sealed, in bytes
	created_at   BIGINT NOT NULL, -- Unix microseconds
	expires_at   BIGINT NOT NULL  -- Unix microseconds
);
CREATE INDEX gateway_responses_owner ON gateway_responses (owner);
CREATE INDEX gateway_responses_expires ON gateway_responses (expires_at);
CREATE INDEX gateway_responses_running ON gateway_responses (leased_until, id) WHERE runner <> '';

-- Where the items of stored answers are, for clients that refer to them.
CREATE TABLE gateway_response_items (
	id       TEXT NOT NULL PRIMARY KEY, -- owner, a slash, and the id that the client knows
	response TEXT NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE
);
CREATE INDEX gateway_response_items_response ON gateway_response_items (response);

-- The events of answers in the background, for clients that come back to a stream.
CREATE TABLE gateway_response_events (
	id         TEXT   NOT NULL PRIMARY KEY, -- response, a slash, and the number of the first
	response   TEXT   NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE,
	last       BIGINT NOT NULL,             -- number of the last event in the text
	sealed     TEXT   NOT NULL,
	expires_at BIGINT NOT NULL              -- Unix microseconds
);
CREATE INDEX gateway_response_events_response ON gateway_response_events (response, last);
CREATE INDEX gateway_response_events_expires ON gateway_response_events (expires_at);

CREATE TABLE gateway_conversations (
	id         TEXT   NOT NULL PRIMARY KEY,
	owner      TEXT   NOT NULL, -- a team or a user
	sealed     TEXT   NOT NULL, -- its metadata
	places     BIGINT NOT NULL, -- the place of the newest item
	created_at BIGINT NOT NULL, -- Unix microseconds
	expires_at BIGINT NOT NULL  -- Unix microseconds
);
CREATE INDEX gateway_conversations_owner ON gateway_conversations (owner);
CREATE INDEX gateway_conversations_expires ON gateway_conversations (expires_at);
CREATE TABLE gateway_conversation_items (
	id           TEXT   NOT NULL PRIMARY KEY, -- conversation, a slash, and the id that the client knows
	conversation TEXT   NOT NULL REFERENCES gateway_conversations (id) ON DELETE CASCADE,
	place        BIGINT NOT NULL,
	sealed       TEXT   NOT NULL,
	size         BIGINT NOT NULL -- of the item, in bytes
);
CREATE UNIQUE INDEX gateway_conversation_items_place ON gateway_conversation_items (conversation, place);

-- +goose Down
DROP TABLE gateway_conversation_items;
DROP TABLE gateway_conversations;
DROP TABLE gateway_response_events;
DROP TABLE gateway_response_items;
DROP TABLE gateway_responses;
