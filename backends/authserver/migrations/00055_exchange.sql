-- +goose Up
-- What came of an access token by exchange, and of that again, is found by its parent.
CREATE INDEX authserver_issuances_parent ON authserver_issuances (parent_jti) WHERE parent_jti <> '';

-- +goose Down
DROP INDEX authserver_issuances_parent;
