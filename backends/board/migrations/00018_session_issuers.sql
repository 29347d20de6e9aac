-- +goose Up
-- The OpenID provider at which the session began; empty: with a password.
ALTER TABLE board_sessions ADD COLUMN issuer TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE board_sessions DROP COLUMN issuer;
