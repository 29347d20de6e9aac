-- +goose Up
-- A mail to an address that is to be proved, with a link that does one thing
-- once; see link.go. Its row in board_mails has the source link, and its id as
-- the thread.
CREATE TABLE board_links (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind        TEXT    NOT NULL,          -- reset, email, or notice, which has no link
	user_id     INTEGER NOT NULL REFERENCES board_users (id),
	email       TEXT    NOT NULL,          -- where the mail goes
	secret_hash TEXT    UNIQUE,            -- SHA-256 of the secret, hex; NULL: not sent yet
	expires_at  INTEGER NOT NULL
);
CREATE INDEX board_links_user ON board_links (user_id);
CREATE INDEX board_links_expires ON board_links (expires_at);

ALTER TABLE board_users ADD COLUMN time_zone TEXT NOT NULL DEFAULT 'UTC';  -- its IANA name

-- +goose Down
ALTER TABLE board_users DROP COLUMN time_zone;
DROP TABLE board_links;
