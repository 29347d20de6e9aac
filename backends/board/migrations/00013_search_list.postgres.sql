-- +goose Up
-- The words of new posts are folded into the index in the background, and in a quiet moment
-- where there is one; a list that is longer than this, in kB, whoever replies would fold.
ALTER INDEX board_search_words SET (gin_pending_list_limit = 32768);

-- +goose Down
ALTER INDEX board_search_words RESET (gin_pending_list_limit);
