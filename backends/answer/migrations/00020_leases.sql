-- +goose Up
-- Which process does a piece of work in the background, or did so last, and until when
-- others leave it to that one.
CREATE TABLE answer_leases (
	name   TEXT   NOT NULL PRIMARY KEY,
	holder TEXT   NOT NULL,
	until  BIGINT NOT NULL -- Unix microseconds
);

-- +goose Down
DROP TABLE answer_leases;
