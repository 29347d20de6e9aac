-- +goose Up
-- What was imported from another program: its id there and here. Old addresses lead to the new ones by it, and an
-- import that was interrupted goes on.
CREATE TABLE board_moved (
	program TEXT    NOT NULL,  -- such as phpbb
	kind    TEXT    NOT NULL,  -- member, forum, thread, post or file
	old_id  BIGINT  NOT NULL,
	new_id  BIGINT  NOT NULL,
	PRIMARY KEY (program, kind, old_id)
);

-- +goose Down
DROP TABLE board_moved;
