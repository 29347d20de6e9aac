-- +goose Up
-- Numbers that are never given twice are made of the time and of chance, and not counted
-- in a table of their own, of which each report changed a page.
CREATE TABLE run_inbox_next (
	id       INTEGER PRIMARY KEY, -- ascending by arrival; see inbox.go
	version  BIGINT  NOT NULL, -- of the command
	received BIGINT  NOT NULL, -- the server's clock at submission
	since    BIGINT  NOT NULL, -- older events of it are not kept
	payload  BLOB    NOT NULL  -- packed
);
INSERT INTO run_inbox_next SELECT id, version, received, since, payload FROM run_inbox ORDER BY id;
DROP TABLE run_inbox;
ALTER TABLE run_inbox_next RENAME TO run_inbox;

-- +goose Down
CREATE TABLE run_inbox_before (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	version  BIGINT  NOT NULL,
	received BIGINT  NOT NULL,
	since    BIGINT  NOT NULL,
	payload  BLOB    NOT NULL
);
INSERT INTO run_inbox_before SELECT id, version, received, since, payload FROM run_inbox ORDER BY id;
DROP TABLE run_inbox;
ALTER TABLE run_inbox_before RENAME TO run_inbox;
