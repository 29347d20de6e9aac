-- +goose Up
-- New words stay in a list until it is full, and whoever saves the page that fills it puts
-- all of them into the index: with 4 MB, the default, that is a quarter of a second, and 30 ms
-- with this. The limit is in kB.
ALTER INDEX cms_page_values_words SET (gin_pending_list_limit = 512);

-- +goose Down
ALTER INDEX cms_page_values_words RESET (gin_pending_list_limit);
