-- +goose Up
-- Pictures of members. Their content is in board_contents or its folder, as that of attachments.
CREATE TABLE board_avatars (
	user_id    INTEGER NOT NULL PRIMARY KEY REFERENCES board_users (id),
	name       TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	sha256     TEXT    NOT NULL,  -- hex; names the content
	width      INTEGER NOT NULL,
	height     INTEGER NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX board_avatars_content ON board_avatars (sha256);

-- +goose Down
DROP TABLE board_avatars;
