-- +goose Up
-- The public keys of a key management server, as it told them last: for a start at which
-- it does not answer.
CREATE TABLE authserver_kms_keys (
	name     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- of the key, with its server
	versions TEXT NOT NULL -- signed by this server
);

-- +goose Down
DROP TABLE authserver_kms_keys;
