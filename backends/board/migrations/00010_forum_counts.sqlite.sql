-- +goose Up
-- What posts have added to the counts of a forum, over several rows: threads that
-- are written in at the same time do not wait for each other's commit. Readers
-- add them to thread_count and post_count. The last_ columns of board_forums are
-- not read any more: the newest thread of a forum tells the same.
CREATE TABLE board_forum_counts (
	forum_id INTEGER NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	slot     INTEGER NOT NULL,
	threads  INTEGER NOT NULL,
	posts    INTEGER NOT NULL,
	PRIMARY KEY (forum_id, slot)
) WITHOUT ROWID;

-- +goose Down
UPDATE board_forums SET
	thread_count = thread_count + COALESCE((SELECT sum(n.threads) FROM board_forum_counts n WHERE n.forum_id = board_forums.id), 0),
	post_count = post_count + COALESCE((SELECT sum(n.posts) FROM board_forum_counts n WHERE n.forum_id = board_forums.id), 0);
DROP TABLE board_forum_counts;
