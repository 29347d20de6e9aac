-- +goose Up
-- Threads whose posts are moved to another one, and where their old addresses lead. Of a merge that is not done yet,
-- first_number is the number that is kept for the first post; see the package moderation.
CREATE TABLE board_merged_threads (
	thread_id    BIGINT NOT NULL PRIMARY KEY REFERENCES board_threads (id),
	into_id      BIGINT NOT NULL REFERENCES board_threads (id),
	first_post   BIGINT NOT NULL,
	first_number BIGINT NOT NULL,
	merged_at    BIGINT            -- NULL: not done yet
);
CREATE INDEX board_merged_threads_into ON board_merged_threads (into_id);
CREATE INDEX board_merged_threads_undone ON board_merged_threads (thread_id) WHERE merged_at IS NULL;

-- +goose Down
DROP TABLE board_merged_threads;
