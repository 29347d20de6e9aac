-- +goose Up
-- Mails about private messages. message_mails is 0 for a member who wants none. mailed_id is the message about which a
-- participant was last mailed, after which nothing is mailed until the participant has read it.
-- accepts_messages is 0 for a member with whom others may not start conversations.
ALTER TABLE board_users ADD COLUMN message_mails INTEGER NOT NULL DEFAULT 1;
ALTER TABLE board_users ADD COLUMN accepts_messages INTEGER NOT NULL DEFAULT 1;
ALTER TABLE board_conversation_members ADD COLUMN mailed_id INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE board_conversation_members DROP COLUMN mailed_id;
ALTER TABLE board_users DROP COLUMN accepts_messages;
ALTER TABLE board_users DROP COLUMN message_mails;
