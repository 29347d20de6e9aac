-- +goose Up
-- Which process does a piece of work, or did so last, and until when others leave
-- it to that one.
CREATE TABLE PREFIX_leases (
	name   TEXT   NOT NULL PRIMARY KEY,
	holder TEXT   NOT NULL,
	until  BIGINT NOT NULL -- Unix microseconds
);

-- +goose Down
DROP TABLE PREFIX_leases;
