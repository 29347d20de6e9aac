-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE board_attachments (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_id  INTEGER NOT NULL,
	post_id    INTEGER NOT NULL REFERENCES board_post_ids (id),
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	name       TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	sha256     TEXT    NOT NULL,  -- hex; names the content
	width      INTEGER,           -- of an image
	height     INTEGER,
	created_at INTEGER NOT NULL,
	removed_at INTEGER            -- it counts for the member while its content may still be there
);
CREATE INDEX board_attachments_post ON board_attachments (post_id) WHERE removed_at IS NULL;
CREATE INDEX board_attachments_removed ON board_attachments (created_at) WHERE removed_at IS NOT NULL;
CREATE INDEX board_attachments_user ON board_attachments (user_id, size);
CREATE INDEX board_attachments_content ON board_attachments (sha256);

-- The content, where it is kept in the database: in parts of 256 KiB.
CREATE TABLE board_contents (
	sha256    TEXT    NOT NULL,
	part      INTEGER NOT NULL,
	data      BLOB    NOT NULL,
	stored_at INTEGER NOT NULL,
	PRIMARY KEY (sha256, part)
);

-- +goose Down
DROP TABLE board_contents;
DROP TABLE board_attachments;
