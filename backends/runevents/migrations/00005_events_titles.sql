-- +goose Up
-- Resources of one title are found by its first characters: a title may be too long for an index.
CREATE INDEX run_resources_title ON run_resources (substr(title, 1, 100));

-- +goose Down
DROP INDEX run_resources_title;
