-- +goose Up
-- Warnings that moderators give to members. Times are Unix microseconds.
CREATE TABLE board_warnings (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id      INTEGER NOT NULL REFERENCES board_users (id),
	post_id      INTEGER NOT NULL,
	forum_id     INTEGER NOT NULL,
	actor_id     INTEGER NOT NULL,
	actor_name   TEXT    NOT NULL,
	reason       TEXT    NOT NULL,
	points       INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER NOT NULL,           -- 0: never
	suspended_to INTEGER NOT NULL DEFAULT 0, -- the end of the suspension that the warning led to
	withdrawn_at INTEGER NOT NULL DEFAULT 0,
	withdrawn_by TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX board_warnings_user ON board_warnings (user_id, id);

-- What moderators note about members, which the members do not see.
CREATE TABLE board_member_notes (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id     INTEGER NOT NULL REFERENCES board_users (id),
	author_id   INTEGER NOT NULL,
	author_name TEXT    NOT NULL,
	message     TEXT    NOT NULL,
	created_at  INTEGER NOT NULL
);
CREATE INDEX board_member_notes_user ON board_member_notes (user_id, id);

-- Until then the warnings of the member have so many points that every post is held.
ALTER TABLE board_users ADD COLUMN moderated_until INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE board_users DROP COLUMN moderated_until;
DROP TABLE board_member_notes;
DROP TABLE board_warnings;
