-- +goose Up
-- Authorization requests that clients have sent ahead (RFC 9126).
CREATE TABLE authserver_pushed (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- of what request_uri ends with
	client_id  TEXT {{bytewise}} NOT NULL,
	request    TEXT NOT NULL,                          -- the parameters, as a form
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_pushed_expires ON authserver_pushed (expires_at);

-- +goose Down
DROP TABLE authserver_pushed;
