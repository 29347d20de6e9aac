-- +goose Up
-- FTS5 merges its segments 64 leaves and more at a time, once as many were written, in
-- the midst of a save: with leaves of 4,050 bytes that is 20 ms for all who wait behind it,
-- and 5 with these. Those that are there keep their size until they are merged.
INSERT INTO cms_search (cms_search, rank) VALUES ('pgsz', 1000);

-- +goose Down
INSERT INTO cms_search (cms_search, rank) VALUES ('pgsz', 4050);
