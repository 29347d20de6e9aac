-- +goose Up
-- The language of the pages and mails that a member has chosen; empty: the browser decides.
ALTER TABLE board_users ADD COLUMN language TEXT NOT NULL DEFAULT '';
-- The language of the page on which a mail was asked for; empty: none.
ALTER TABLE board_links ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE board_links DROP COLUMN language;
ALTER TABLE board_users DROP COLUMN language;
