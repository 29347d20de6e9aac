-- +goose Up
-- Texts that members have begun and not posted yet; see the package drafts. place and place_id say where: a reply in a
-- thread, a new thread in a forum, or a message in a conversation, where 0 is a new one.
CREATE TABLE board_drafts (
	id         {{id}},
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	place      TEXT   NOT NULL,
	place_id   BIGINT NOT NULL,
	title      TEXT   NOT NULL,
	recipients TEXT   NOT NULL,
	prefix_id  BIGINT NOT NULL,
	message    TEXT   NOT NULL,
	saved_at   BIGINT NOT NULL,
	UNIQUE (user_id, place, place_id)
);
CREATE INDEX board_drafts_age ON board_drafts (saved_at);

-- 0 for a member who wants no mails about posts that mention it.
ALTER TABLE board_users ADD COLUMN mention_mails BIGINT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE board_users DROP COLUMN mention_mails;
DROP TABLE board_drafts;
