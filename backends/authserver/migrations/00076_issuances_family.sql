-- +goose Up
-- The jti of a token begins with the id of its family, so the index of the jti finds those of a family.
DROP INDEX authserver_issuances_family;

-- +goose Down
CREATE INDEX authserver_issuances_family ON authserver_issuances (family) WHERE family <> '';
