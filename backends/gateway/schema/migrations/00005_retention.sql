-- +goose Up
-- Keys that are not revoked, of which a user has a bounded number.
CREATE INDEX gateway_keys_active ON gateway_keys (user_id, created_at, id) WHERE revoked_at IS NULL;

-- Old hours are deleted from the front.
CREATE INDEX gateway_usage_hours_hour ON gateway_usage_hours (hour);

-- Which process deletes what is old, or did so last, and until when others leave
-- it to that one.
CREATE TABLE gateway_sweeps (
	name   TEXT   NOT NULL PRIMARY KEY,
	holder TEXT   NOT NULL,
	until  BIGINT NOT NULL -- Unix microseconds
);

-- +goose Down
DROP TABLE gateway_sweeps;
DROP INDEX gateway_usage_hours_hour;
DROP INDEX gateway_keys_active;
