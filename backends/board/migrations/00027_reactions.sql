-- +goose Up
-- Reactions of members to posts, one of a member to a post, and how many of each kind a post has. Rows name posts only,
-- whose ids stay the same wherever they are moved.
CREATE TABLE board_reactions (
	post_id    BIGINT NOT NULL,
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	kind       TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (post_id, user_id)
);
CREATE INDEX board_reactions_user ON board_reactions (user_id);

CREATE TABLE board_reaction_counts (
	post_id BIGINT NOT NULL,
	kind    TEXT   NOT NULL,
	n       BIGINT NOT NULL,
	PRIMARY KEY (post_id, kind)
);

-- The reply that answers a thread, or 0, and whether a forum has such answers.
ALTER TABLE board_threads ADD COLUMN answer_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE board_forums ADD COLUMN answers BIGINT NOT NULL DEFAULT 0;

-- 0 for a member who wants no notifications of reactions and answers.
ALTER TABLE board_users ADD COLUMN reaction_notices BIGINT NOT NULL DEFAULT 1;

-- Posts that members have bookmarked. The bookmark of a thread is that of its first post.
CREATE TABLE board_bookmarks (
	id         {{id}},
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	post_id    BIGINT NOT NULL,
	note       TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (user_id, post_id)
);
CREATE INDEX board_bookmarks_list ON board_bookmarks (user_id, id);

-- +goose Down
DROP TABLE board_bookmarks;
ALTER TABLE board_users DROP COLUMN reaction_notices;
ALTER TABLE board_forums DROP COLUMN answers;
ALTER TABLE board_threads DROP COLUMN answer_id;
DROP TABLE board_reaction_counts;
DROP TABLE board_reactions;
