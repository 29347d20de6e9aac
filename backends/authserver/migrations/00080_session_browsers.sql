-- +goose Up
-- Where a session began, so that its user recognizes it.
ALTER TABLE authserver_sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE authserver_sessions ADD COLUMN agent TEXT NOT NULL DEFAULT ''; -- the User-Agent of the browser

-- +goose Down
ALTER TABLE authserver_sessions DROP COLUMN agent;
ALTER TABLE authserver_sessions DROP COLUMN address;
