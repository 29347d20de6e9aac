-- +goose Up
-- Reports of private messages; see the package conversations. A message may be deleted while its report is open.
CREATE TABLE board_message_reports (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	message_id INTEGER NOT NULL,
	user_id    INTEGER REFERENCES board_users (id),  -- NULL: deleted
	reason     TEXT   NOT NULL,
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	closed_by  INTEGER,
	note       TEXT,
	UNIQUE (message_id, user_id)
);
CREATE INDEX board_message_reports_open ON board_message_reports (id) WHERE closed_at IS NULL;
CREATE INDEX board_message_reports_user ON board_message_reports (user_id, created_at);

-- What the moderators see: copies of the reported message and of the last ones before it. They are deleted when the
-- report is closed.
CREATE TABLE board_reported_messages (
	report_id  INTEGER NOT NULL REFERENCES board_message_reports (id),
	message_id INTEGER NOT NULL,
	author_id  INTEGER REFERENCES board_users (id),  -- NULL: deleted
	message    TEXT   NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (report_id, message_id)
);
CREATE INDEX board_reported_messages_author ON board_reported_messages (author_id);

-- +goose Down
DROP TABLE board_reported_messages;
DROP TABLE board_message_reports;
