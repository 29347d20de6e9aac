-- +goose Up
-- How many tokens may be used in a minute, and how many requests may be under way.
ALTER TABLE gateway_limits ADD COLUMN tokens_per_minute BIGINT;
ALTER TABLE gateway_limits ADD COLUMN parallel_requests BIGINT;
ALTER TABLE gateway_keys ADD COLUMN tokens_per_minute BIGINT;
ALTER TABLE gateway_keys ADD COLUMN parallel_requests BIGINT;

-- +goose Down
ALTER TABLE gateway_keys DROP COLUMN parallel_requests;
ALTER TABLE gateway_keys DROP COLUMN tokens_per_minute;
ALTER TABLE gateway_limits DROP COLUMN parallel_requests;
ALTER TABLE gateway_limits DROP COLUMN tokens_per_minute;
