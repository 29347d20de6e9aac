-- +goose Up
-- Numbers that posts had in threads which they have left, so that an old address with such a number leads to the post.
CREATE TABLE board_moved_posts (
	thread_id BIGINT NOT NULL REFERENCES board_threads (id),
	number    BIGINT NOT NULL,
	post_id   BIGINT NOT NULL,
	PRIMARY KEY (thread_id, number)
);

-- +goose Down
DROP TABLE board_moved_posts;
