-- +goose Up
-- The page of unread threads reads the newest threads of all forums.
CREATE INDEX board_threads_newest ON board_threads (last_post_at) WHERE visibility = 0;

-- +goose Down
DROP INDEX board_threads_newest;
