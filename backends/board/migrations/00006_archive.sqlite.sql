-- +goose Up
-- Deleted posts that pages would have to step over, a thousand and more in a
-- row; see archive.go. Their rows of board_post_ids have the visibility 3.
CREATE TABLE board_posts_archive (
	thread_id      INTEGER NOT NULL REFERENCES board_threads (id),
	id             INTEGER NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
	number         INTEGER NOT NULL,
	author_id      INTEGER REFERENCES board_users (id),
	author_name    TEXT    NOT NULL,
	visibility     INTEGER NOT NULL,
	message        TEXT    NOT NULL,
	message_html   TEXT    NOT NULL,
	render_version INTEGER NOT NULL,
	body_hash      TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	edited_at      INTEGER,
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     INTEGER NOT NULL
);
CREATE INDEX board_posts_archive_thread ON board_posts_archive (thread_id);
CREATE INDEX board_post_ids_deleted ON board_post_ids (thread_id, created_at) WHERE visibility = 2;

-- What has been loaded of fixtures; see seed.go.
CREATE TABLE board_seeds (
	fixture TEXT    NOT NULL,  -- digest of its beginning
	part    TEXT    NOT NULL,
	done    INTEGER NOT NULL,  -- elements
	PRIMARY KEY (fixture, part)
);

-- +goose Down
DROP TABLE board_seeds;
DROP INDEX board_post_ids_deleted;
DROP TABLE board_posts_archive;
