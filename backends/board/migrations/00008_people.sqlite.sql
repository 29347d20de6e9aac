-- +goose Up
-- Mails go to an address only when its owner opened a link in one; see confirm.go.
ALTER TABLE board_users ADD COLUMN email_confirmed INTEGER NOT NULL DEFAULT 0;
-- What is to be the address once a link that goes there is opened.
ALTER TABLE board_users ADD COLUMN email_asked TEXT NOT NULL DEFAULT '';
-- Who follows something gets mail until now, and goes on to.
UPDATE board_users SET email_confirmed = 1 WHERE email <> ''
	AND id IN (SELECT user_id FROM board_subscriptions WHERE mode <> 'none');
CREATE INDEX board_users_unconfirmed ON board_users (joined_at) WHERE state = 'unconfirmed';

-- How names look; see names.go. Of members whose names looked alike before this
-- was noted, one has the skeleton and the others clash with it.
CREATE TABLE board_names (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	skeleton TEXT    NOT NULL,
	clashes  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, skeleton)
) WITHOUT ROWID;
CREATE UNIQUE INDEX board_names_skeleton ON board_names (skeleton) WHERE clashes = 0;
CREATE INDEX board_names_clashes ON board_names (skeleton, user_id) WHERE clashes = 1;

-- +goose Down
DROP TABLE board_names;
DROP INDEX board_users_unconfirmed;
ALTER TABLE board_users DROP COLUMN email_asked;
ALTER TABLE board_users DROP COLUMN email_confirmed;
