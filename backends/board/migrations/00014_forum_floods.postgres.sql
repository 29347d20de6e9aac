-- +goose Up
-- Forums with a flood time of their own: when a member's bucket there is full again, in
-- Unix microseconds. In the member's row one post in a slow forum would keep the member
-- out of all others for as long.
CREATE TABLE board_forum_floods (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	full_at  BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
);
CREATE INDEX board_forum_floods_full ON board_forum_floods (full_at);

-- +goose Down
DROP TABLE board_forum_floods;
