-- +goose Up
-- additive
-- Polls of posts, of which each one has at most one. Rows name posts only, whose ids stay the same wherever they are
-- moved. choices is how many answers a member may choose; ends_at is 0 for a poll without an end.
CREATE TABLE board_polls (
	post_id    BIGINT NOT NULL PRIMARY KEY,
	question   TEXT   NOT NULL,
	choices    BIGINT NOT NULL,
	ends_at    BIGINT NOT NULL,
	hidden     BIGINT NOT NULL,
	changeable BIGINT NOT NULL,
	voters     BIGINT NOT NULL
);
CREATE TABLE board_poll_answers (
	post_id BIGINT NOT NULL,
	number  BIGINT NOT NULL,
	answer  TEXT   NOT NULL,
	votes   BIGINT NOT NULL,
	PRIMARY KEY (post_id, number)
);
CREATE TABLE board_poll_votes (
	post_id BIGINT NOT NULL,
	user_id BIGINT NOT NULL,
	number  BIGINT NOT NULL,
	PRIMARY KEY (post_id, user_id, number)
);
CREATE INDEX board_poll_votes_user ON board_poll_votes (user_id);

-- 1 for a thread of which a post has, or once had, a poll: pages of all others do not look for one.
ALTER TABLE board_threads ADD COLUMN has_poll BIGINT NOT NULL DEFAULT 0;

-- The tags with which a draft of a thread begins, with commas between them.
ALTER TABLE board_drafts ADD COLUMN tags TEXT NOT NULL DEFAULT '';

-- When the limit for reactions and votes of a member is fully available again.
ALTER TABLE board_users ADD COLUMN flood_reactions BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE board_users DROP COLUMN flood_reactions;
ALTER TABLE board_drafts DROP COLUMN tags;
ALTER TABLE board_threads DROP COLUMN has_poll;
DROP TABLE board_poll_votes;
DROP TABLE board_poll_answers;
DROP TABLE board_polls;
