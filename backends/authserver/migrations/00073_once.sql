-- +goose Up
-- What is good once and was used, such as assertions and proofs, where nodes have no other
-- memory that they share.
CREATE TABLE authserver_once (
	digest     {{bytes}} NOT NULL PRIMARY KEY, -- SHA-256 of its name
	expires_at BIGINT NOT NULL                 -- in Unix microseconds: from then on it is refused for its age
) {{without rowid}};
CREATE INDEX authserver_once_expires ON authserver_once (expires_at);

-- +goose Down
DROP TABLE authserver_once;
