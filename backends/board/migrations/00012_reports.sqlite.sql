-- +goose Up
-- A member may report a post again when the report before is closed; see report.go. The
-- table is made anew without its UNIQUE, and with the ids that it would have given.
CREATE TABLE board_reports_new (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	post_id    INTEGER NOT NULL REFERENCES board_post_ids (id),
	forum_id   INTEGER NOT NULL REFERENCES board_forums (id),
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	reason     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	closed_by  BIGINT,
	note       TEXT
);
INSERT INTO board_reports_new (id, post_id, forum_id, user_id, reason, created_at, closed_at, closed_by, note) SELECT id, post_id, forum_id, user_id, reason, created_at, closed_at, closed_by, note FROM board_reports;
INSERT INTO sqlite_sequence (name, seq) SELECT 'board_reports_new', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'board_reports_new');
UPDATE sqlite_sequence SET seq = MAX(seq, COALESCE((SELECT o.seq FROM sqlite_sequence o WHERE o.name = 'board_reports'), 0)) WHERE name = 'board_reports_new';
DROP TABLE board_reports;
ALTER TABLE board_reports_new RENAME TO board_reports;
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;
CREATE INDEX board_reports_member ON board_reports (post_id, user_id);
CREATE UNIQUE INDEX board_reports_member_open ON board_reports (post_id, user_id) WHERE closed_at IS NULL;

-- +goose Down
DELETE FROM board_reports WHERE id NOT IN (SELECT MAX(id) FROM board_reports GROUP BY post_id, user_id);
CREATE TABLE board_reports_new (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	post_id    INTEGER NOT NULL REFERENCES board_post_ids (id),
	forum_id   INTEGER NOT NULL REFERENCES board_forums (id),
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	reason     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	closed_by  BIGINT,
	note       TEXT,
	UNIQUE (post_id, user_id)
);
INSERT INTO board_reports_new (id, post_id, forum_id, user_id, reason, created_at, closed_at, closed_by, note) SELECT id, post_id, forum_id, user_id, reason, created_at, closed_at, closed_by, note FROM board_reports;
INSERT INTO sqlite_sequence (name, seq) SELECT 'board_reports_new', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'board_reports_new');
UPDATE sqlite_sequence SET seq = MAX(seq, COALESCE((SELECT o.seq FROM sqlite_sequence o WHERE o.name = 'board_reports'), 0)) WHERE name = 'board_reports_new';
DROP TABLE board_reports;
ALTER TABLE board_reports_new RENAME TO board_reports;
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;
