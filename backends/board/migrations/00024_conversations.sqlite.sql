-- +goose Up
-- Private conversations between members; see the package conversations.
CREATE TABLE board_conversations (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	title      TEXT    NOT NULL,
	starter_id INTEGER REFERENCES board_users (id),  -- NULL: deleted
	created_at INTEGER  NOT NULL
);
CREATE INDEX board_conversations_starter ON board_conversations (starter_id, created_at);

CREATE TABLE board_conversation_messages (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	conversation_id INTEGER  NOT NULL REFERENCES board_conversations (id),
	author_id       INTEGER REFERENCES board_users (id),  -- NULL: deleted
	message         TEXT    NOT NULL,
	created_at      INTEGER  NOT NULL
);
CREATE INDEX board_conversation_messages_conversation ON board_conversation_messages (conversation_id, id);
CREATE INDEX board_conversation_messages_author ON board_conversation_messages (author_id);

-- A member that takes part. last_id repeats the last message of the conversation, by which a member's list is sorted.
CREATE TABLE board_conversation_members (
	conversation_id INTEGER NOT NULL REFERENCES board_conversations (id),
	user_id         INTEGER NOT NULL REFERENCES board_users (id),
	last_id         INTEGER NOT NULL,
	read_id         INTEGER NOT NULL,
	PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX board_conversation_members_list ON board_conversation_members (user_id, last_id);
CREATE INDEX board_conversation_members_unread ON board_conversation_members (user_id) WHERE read_id < last_id;

-- A member who accepts no private messages of another one.
CREATE TABLE board_blocks (
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	blocked_id INTEGER NOT NULL REFERENCES board_users (id),
	created_at INTEGER NOT NULL,
	PRIMARY KEY (user_id, blocked_id)
);
CREATE INDEX board_blocks_blocked ON board_blocks (blocked_id);

-- +goose Down
DROP TABLE board_blocks;
DROP TABLE board_conversation_members;
DROP TABLE board_conversation_messages;
DROP TABLE board_conversations;
