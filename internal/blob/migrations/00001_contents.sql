-- +goose Up
-- Files by the SHA-256 of their content, in parts of 256 KiB. Times are Unix
-- microseconds.
CREATE TABLE PREFIX_contents (
	sha256    TEXT   NOT NULL,
	part      BIGINT NOT NULL,
	data      {{bytes}} NOT NULL,
	stored_at BIGINT NOT NULL,
	PRIMARY KEY (sha256, part)
);

-- +goose Down
DROP TABLE PREFIX_contents;
