-- +goose Up
-- Letters of Korean are words of the search by themselves, and ł is found by l: the job that
-- indexes posts goes through all that are there once more.
DELETE FROM board_settings WHERE name = 'search_indexed';

-- +goose Down
DELETE FROM board_settings WHERE name = 'search_indexed';
