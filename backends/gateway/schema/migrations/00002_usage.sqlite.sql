-- +goose Up
-- One row a request, written in batches, read by user and newest first.
CREATE TABLE gateway_usage (
	id                INTEGER  PRIMARY KEY,
	at                BIGINT   NOT NULL, -- Unix microseconds of the request's start
	request_id        TEXT     NOT NULL,
	user_id           TEXT     NOT NULL,
	key_id            TEXT     NOT NULL,
	surface           TEXT     NOT NULL,
	asked_model       TEXT     NOT NULL,
	tier              TEXT     NOT NULL,
	provider          TEXT     NOT NULL, -- of the candidate that answered; empty: none did
	model             TEXT     NOT NULL,
	stream            SMALLINT NOT NULL,
	status            BIGINT   NOT NULL,
	code              TEXT     NOT NULL, -- error code; empty: success
	attempts          BIGINT   NOT NULL,
	failed_attempts   TEXT     NOT NULL, -- JSON array; empty: none
	input_tokens      BIGINT   NOT NULL, -- cached and written ones included
	cached_tokens     BIGINT   NOT NULL,
	output_tokens     BIGINT   NOT NULL, -- reasoning included
	reasoning_tokens  BIGINT   NOT NULL,
	usage_source      TEXT     NOT NULL, -- exact or estimated
	cost_micro_usd    BIGINT,            -- NULL: the price is not known
	latency_us        BIGINT   NOT NULL,
	first_token_us    BIGINT   NOT NULL  -- 0: none came
);
CREATE INDEX gateway_usage_user ON gateway_usage (user_id, id);

-- +goose Down
DROP TABLE gateway_usage;
