-- +goose Up
-- Its index gives the latest passages first.
SELECT 1;

-- +goose Down
SELECT 1;
