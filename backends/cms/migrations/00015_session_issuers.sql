-- +goose Up
-- The OpenID provider at which the session began; empty: with a password.
ALTER TABLE cms_sessions ADD COLUMN issuer TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE cms_sessions DROP COLUMN issuer;
