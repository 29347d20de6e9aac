-- +goose Up
ALTER TABLE cms_page_values ADD COLUMN words TSVECTOR;
CREATE INDEX cms_page_values_words ON cms_page_values USING gin (words);

-- +goose Down
DROP INDEX cms_page_values_words;
ALTER TABLE cms_page_values DROP COLUMN words;
