-- +goose Up
-- Members of each state: the newest first, those who were seen last, and those with the most posts.
CREATE INDEX board_users_joined ON board_users (state, joined_at, id);
CREATE INDEX board_users_seen ON board_users (state, (COALESCE(last_active_at, 0)), id);
CREATE INDEX board_users_posts ON board_users (state, post_count, id);

-- +goose Down
DROP INDEX board_users_posts;
DROP INDEX board_users_seen;
DROP INDEX board_users_joined;
