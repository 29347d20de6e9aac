-- +goose Up
-- Deleted posts that pages would have to step over, a thousand and more in a
-- row; see archive.go. Their rows of board_post_ids have the visibility 3.
CREATE TABLE board_posts_archive (
	thread_id      BIGINT NOT NULL REFERENCES board_threads (id),
	id             BIGINT NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
	number         BIGINT NOT NULL,
	author_id      BIGINT REFERENCES board_users (id),
	author_name    TEXT    NOT NULL,
	visibility     SMALLINT NOT NULL,
	message        TEXT    NOT NULL,
	message_html   TEXT    NOT NULL,
	render_version BIGINT NOT NULL,
	body_hash      TEXT    NOT NULL,
	created_at     BIGINT NOT NULL,
	edited_at      BIGINT,
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     BIGINT NOT NULL
);
CREATE INDEX board_posts_archive_thread ON board_posts_archive (thread_id);
CREATE INDEX board_post_ids_deleted ON board_post_ids (thread_id, created_at) WHERE visibility = 2;

-- What has been loaded of fixtures; see seed.go.
CREATE TABLE board_seeds (
	fixture TEXT    NOT NULL,  -- digest of its beginning
	part    TEXT    NOT NULL,
	done    BIGINT NOT NULL,  -- elements
	PRIMARY KEY (fixture, part)
);

-- +goose Down
DROP TABLE board_seeds;
DROP INDEX board_post_ids_deleted;
DROP TABLE board_posts_archive;
