-- +goose Up
-- The language of the pages and mails that a user has chosen; empty: the browser decides.
ALTER TABLE authserver_users ADD COLUMN language TEXT NOT NULL DEFAULT '';
-- The language of the page on which a mail was asked for.
ALTER TABLE authserver_links ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE authserver_links DROP COLUMN language;
ALTER TABLE authserver_users DROP COLUMN language;
