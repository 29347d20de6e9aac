-- +goose Up
-- Visible posts in visible threads, by member and forum, so that a profile
-- counts only what who looks may see; see member_posts.go. The forum 0 is what
-- a member had posted before, on no forum of this board.
CREATE TABLE board_member_posts (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	forum_id INTEGER NOT NULL,
	posts    INTEGER NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) WITHOUT ROWID;
INSERT INTO board_member_posts (user_id, forum_id, posts)
	SELECT i.author_id, t.forum_id, count(*) FROM board_post_ids i JOIN board_threads t ON t.id = i.thread_id
	WHERE i.author_id IS NOT NULL AND i.visibility = 0 AND t.visibility = 0 GROUP BY i.author_id, t.forum_id;
INSERT INTO board_member_posts (user_id, forum_id, posts)
	SELECT u.id, 0, u.post_count - (SELECT count(*) FROM board_post_ids i WHERE i.author_id = u.id AND i.visibility = 0) FROM board_users u
	WHERE u.post_count > (SELECT count(*) FROM board_post_ids i WHERE i.author_id = u.id AND i.visibility = 0);

-- 1: an image without metadata, or no image; 0: not looked at yet.
ALTER TABLE board_attachments ADD COLUMN stripped INTEGER NOT NULL DEFAULT 0;
UPDATE board_attachments SET stripped = 1 WHERE width IS NULL;
CREATE INDEX board_attachments_unstripped ON board_attachments (id) WHERE stripped = 0;

-- +goose Down
DROP INDEX board_attachments_unstripped;
ALTER TABLE board_attachments DROP COLUMN stripped;
DROP TABLE board_member_posts;
