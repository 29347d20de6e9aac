-- +goose Up
-- Imposed limits can be others until some time.
ALTER TABLE gateway_limits ADD COLUMN raised TEXT;         -- a JSON object of limits; NULL: none
ALTER TABLE gateway_limits ADD COLUMN raised_until BIGINT;

-- +goose Down
ALTER TABLE gateway_limits DROP COLUMN raised_until;
ALTER TABLE gateway_limits DROP COLUMN raised;
