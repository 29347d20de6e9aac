-- +goose Up
-- When a member gets digests: the hour of the day in the member's time zone, and the day of weekly ones (0: Sunday).
-- digest_at is a past time of a digest, in Unix microseconds, from which statements count; see the package following. It
-- begins as a Monday at 6:00 UTC.
ALTER TABLE board_users ADD COLUMN digest_hour BIGINT NOT NULL DEFAULT 6;
ALTER TABLE board_users ADD COLUMN digest_day BIGINT NOT NULL DEFAULT 1;
ALTER TABLE board_users ADD COLUMN digest_at BIGINT NOT NULL DEFAULT 367200000000;

-- Labels of threads. last_post_at is that of the thread, by which the threads of a tag are listed.
CREATE TABLE board_tags (
	id       {{id}},
	name     TEXT NOT NULL,
	name_key TEXT {{bytewise}} NOT NULL UNIQUE
);
CREATE TABLE board_thread_tags (
	tag_id       BIGINT NOT NULL REFERENCES board_tags (id),
	thread_id    BIGINT NOT NULL REFERENCES board_threads (id),
	last_post_at BIGINT NOT NULL,
	PRIMARY KEY (tag_id, thread_id)
);
CREATE INDEX board_thread_tags_newest ON board_thread_tags (tag_id, last_post_at, thread_id);
CREATE INDEX board_thread_tags_thread ON board_thread_tags (thread_id);

-- +goose Down
DROP TABLE board_thread_tags;
DROP TABLE board_tags;
ALTER TABLE board_users DROP COLUMN digest_at;
ALTER TABLE board_users DROP COLUMN digest_day;
ALTER TABLE board_users DROP COLUMN digest_hour;
