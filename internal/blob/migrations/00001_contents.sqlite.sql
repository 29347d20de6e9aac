-- +goose Up
-- Files by the SHA-256 of their content, in parts of 256 KiB. Times are Unix
-- microseconds.
CREATE TABLE PREFIX_contents (
	sha256    TEXT    NOT NULL,
	part      INTEGER NOT NULL,
	data      BLOB    NOT NULL,
	stored_at INTEGER NOT NULL,
	PRIMARY KEY (sha256, part)
);

-- +goose Down
DROP TABLE PREFIX_contents;
