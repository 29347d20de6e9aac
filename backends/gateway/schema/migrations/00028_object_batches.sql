-- +goose Up
-- The batch whose results a file has. The file is not deleted before the batch is charged, because its
-- cost may have to be read from there.
ALTER TABLE gateway_objects ADD COLUMN batch TEXT NOT NULL DEFAULT ''; -- empty: none

-- +goose Down
ALTER TABLE gateway_objects DROP COLUMN batch;
