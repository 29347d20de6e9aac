-- +goose Up
-- The words of cms_page_values, by its ids. They come split and folded.
CREATE VIRTUAL TABLE cms_search USING fts5 (words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'");

-- +goose Down
DROP TABLE cms_search;
