-- +goose Up
-- Which tools providers may run for a key; a JSON array, NULL: all.
ALTER TABLE gateway_limits ADD COLUMN allowed_tools TEXT;
ALTER TABLE gateway_keys ADD COLUMN allowed_tools TEXT;

-- +goose Down
ALTER TABLE gateway_keys DROP COLUMN allowed_tools;
ALTER TABLE gateway_limits DROP COLUMN allowed_tools;
