-- +goose Up
-- Pictures of members. Their content is in board_contents or its folder, as that of attachments.
CREATE TABLE board_avatars (
	user_id    BIGINT NOT NULL PRIMARY KEY REFERENCES board_users (id),
	name       TEXT   NOT NULL,
	media_type TEXT   NOT NULL,
	size       BIGINT NOT NULL,
	sha256     TEXT   NOT NULL,  -- hex; names the content
	width      BIGINT NOT NULL,
	height     BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX board_avatars_content ON board_avatars (sha256);

-- +goose Down
DROP TABLE board_avatars;
