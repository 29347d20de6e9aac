-- +goose Up
-- Times are Unix microseconds. visibility: 0 visible, 1 unapproved, 2 deleted.
CREATE TABLE board_users (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	username        TEXT    NOT NULL,
	username_key    TEXT    NOT NULL UNIQUE,  -- folded, so that look-alikes in case collide
	email           TEXT    NOT NULL,
	email_key       TEXT    UNIQUE,           -- NULL: no address
	password_hash   TEXT    NOT NULL,         -- empty: no password
	state           TEXT    NOT NULL,         -- active, awaiting, banned or deleted
	banned_until    INTEGER,
	suspended_until INTEGER,
	moderated       INTEGER  NOT NULL DEFAULT 0,   -- every post is held
	post_count      INTEGER NOT NULL DEFAULT 0,
	joined_at       INTEGER NOT NULL,
	last_active_at  INTEGER,
	last_post_at    INTEGER,
	title           TEXT    NOT NULL DEFAULT '',
	bio             TEXT    NOT NULL DEFAULT '',
	-- When each bucket of the flood control is full again; see flood.go.
	flood_posts     INTEGER NOT NULL DEFAULT 0,
	flood_edits     INTEGER NOT NULL DEFAULT 0,
	hourly_threads  INTEGER NOT NULL DEFAULT 0,
	hourly_posts    INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE board_groups (
	id                INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name              TEXT    NOT NULL UNIQUE,
	kind              TEXT    NOT NULL,           -- guest, registered, staff or custom
	allow_mask        INTEGER NOT NULL,
	restrict_mask     INTEGER NOT NULL DEFAULT 0,
	edit_window_min   INTEGER NOT NULL DEFAULT 1440,  -- 0: no limit
	max_posts_per_day INTEGER NOT NULL DEFAULT 0      -- 0: no limit
);

CREATE TABLE board_user_groups (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	group_id INTEGER NOT NULL REFERENCES board_groups (id),
	PRIMARY KEY (user_id, group_id)
);

CREATE TABLE board_forums (
	id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	parent_id        INTEGER REFERENCES board_forums (id),
	path             TEXT    NOT NULL,            -- ids from the root, each behind a slash
	depth            INTEGER NOT NULL,
	position         INTEGER NOT NULL,
	type             TEXT    NOT NULL,            -- category, forum or link
	title            TEXT    NOT NULL,
	slug             TEXT    NOT NULL UNIQUE,
	description      TEXT    NOT NULL DEFAULT '',
	link_url         TEXT,
	is_open          INTEGER  NOT NULL DEFAULT 1,
	allow_threads    INTEGER  NOT NULL DEFAULT 1,
	allow_replies    INTEGER  NOT NULL DEFAULT 1,
	moderate_threads INTEGER  NOT NULL DEFAULT 0,
	moderate_posts   INTEGER  NOT NULL DEFAULT 0,
	requires_prefix  INTEGER  NOT NULL DEFAULT 0,
	flood_seconds    INTEGER,                         -- NULL: the board's; 0: none
	min_words        INTEGER,
	max_words        INTEGER,
	thread_count     INTEGER NOT NULL DEFAULT 0,
	post_count       INTEGER NOT NULL DEFAULT 0,
	last_post_id     INTEGER,
	last_thread_id   INTEGER,
	last_post_at     INTEGER
);

-- A bit that neither mask has is inherited.
CREATE TABLE board_forum_overrides (
	forum_id   INTEGER NOT NULL REFERENCES board_forums (id),
	group_id   INTEGER NOT NULL REFERENCES board_groups (id),
	set_mask   INTEGER NOT NULL,
	clear_mask INTEGER NOT NULL,
	PRIMARY KEY (forum_id, group_id)
);

CREATE TABLE board_forum_moderators (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	forum_id    INTEGER NOT NULL REFERENCES board_forums (id),
	user_id     INTEGER REFERENCES board_users (id),
	group_id    INTEGER REFERENCES board_groups (id),
	rights_mask INTEGER NOT NULL,
	cascades    INTEGER  NOT NULL
);

CREATE TABLE board_prefixes (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	label    TEXT    NOT NULL UNIQUE,
	position INTEGER NOT NULL
);

CREATE TABLE board_prefix_forums (
	forum_id  INTEGER NOT NULL REFERENCES board_forums (id),
	prefix_id INTEGER NOT NULL REFERENCES board_prefixes (id),
	PRIMARY KEY (forum_id, prefix_id)
);

CREATE TABLE board_threads (
	id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	forum_id         INTEGER NOT NULL REFERENCES board_forums (id),
	title            TEXT    NOT NULL,
	slug             TEXT    NOT NULL,
	author_id        INTEGER REFERENCES board_users (id),
	author_name      TEXT    NOT NULL,
	prefix_id        INTEGER REFERENCES board_prefixes (id),
	visibility       INTEGER  NOT NULL,
	is_sticky        INTEGER  NOT NULL DEFAULT 0,
	is_locked        INTEGER  NOT NULL DEFAULT 0,
	reply_count      INTEGER NOT NULL DEFAULT 0,
	view_count       INTEGER NOT NULL DEFAULT 0,
	first_post_id    INTEGER NOT NULL DEFAULT 0,
	last_post_id     INTEGER NOT NULL DEFAULT 0,
	last_poster_name TEXT    NOT NULL,
	created_at       INTEGER NOT NULL,
	last_post_at     INTEGER NOT NULL,
	next_number      INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX board_threads_forum_visible ON board_threads (forum_id, last_post_at) WHERE visibility = 0;
CREATE INDEX board_threads_forum_all ON board_threads (forum_id, last_post_at);
CREATE INDEX board_threads_sticky ON board_threads (forum_id, last_post_at) WHERE is_sticky = 1;
CREATE INDEX board_threads_held_author ON board_threads (author_id, forum_id, last_post_at) WHERE visibility = 1;
CREATE INDEX board_threads_author ON board_threads (author_id, forum_id, last_post_at);

CREATE TABLE board_posts (
	thread_id      INTEGER NOT NULL REFERENCES board_threads (id),
	id             INTEGER NOT NULL,
	number         INTEGER NOT NULL,  -- from 1, dense in its thread, never changes
	author_id      INTEGER REFERENCES board_users (id),
	author_name    TEXT    NOT NULL,
	visibility     INTEGER  NOT NULL,
	message        TEXT    NOT NULL,
	message_html   TEXT    NOT NULL,
	render_version INTEGER NOT NULL,
	body_hash      TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	edited_at      INTEGER,           -- NULL: no note is shown
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (thread_id, id)
) WITHOUT ROWID;

-- Gives posts their ids and finds them: by id, by author, by forum while held.
CREATE TABLE board_post_ids (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_id   INTEGER NOT NULL REFERENCES board_threads (id),
	forum_id    INTEGER NOT NULL REFERENCES board_forums (id),
	author_id   INTEGER REFERENCES board_users (id),
	visibility  INTEGER  NOT NULL,
	held_reason TEXT,
	created_at  INTEGER NOT NULL
);
CREATE INDEX board_post_ids_held ON board_post_ids (forum_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_held_author ON board_post_ids (author_id, thread_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_author ON board_post_ids (author_id);

CREATE TABLE board_post_revisions (
	post_id   INTEGER NOT NULL REFERENCES board_post_ids (id),
	revision  INTEGER NOT NULL,
	message   TEXT    NOT NULL,  -- the text before the edit
	edited_by TEXT    NOT NULL,
	edited_at INTEGER NOT NULL,
	reason    TEXT,
	PRIMARY KEY (post_id, revision)
);

CREATE TABLE board_subscriptions (
	user_id               INTEGER NOT NULL REFERENCES board_users (id),
	target                TEXT    NOT NULL,  -- thread or forum
	target_id             INTEGER NOT NULL,
	mode                  TEXT    NOT NULL,  -- instant, daily, weekly or none
	created_at            INTEGER NOT NULL,
	last_notified_post_id INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, target, target_id)
);
CREATE INDEX board_subscriptions_target ON board_subscriptions (target, target_id);

CREATE TABLE board_notifications (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	kind       TEXT    NOT NULL,
	thread_id  INTEGER NOT NULL,
	post_id    INTEGER NOT NULL,
	actor_name TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	read_at    INTEGER
);
CREATE INDEX board_notifications_user ON board_notifications (user_id);

CREATE TABLE board_thread_reads (
	user_id           INTEGER NOT NULL REFERENCES board_users (id),
	thread_id         INTEGER NOT NULL REFERENCES board_threads (id),
	last_read_post_id INTEGER NOT NULL,
	read_at           INTEGER NOT NULL,
	PRIMARY KEY (user_id, thread_id)
);

CREATE TABLE board_forum_reads (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	forum_id INTEGER NOT NULL REFERENCES board_forums (id),
	read_at  INTEGER NOT NULL,
	PRIMARY KEY (user_id, forum_id)
);

CREATE TABLE board_api_tokens (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id      INTEGER NOT NULL REFERENCES board_users (id),
	name         TEXT    NOT NULL,
	lookup       TEXT    NOT NULL UNIQUE,
	secret_hash  TEXT    NOT NULL,  -- SHA-256 of the secret, hex
	scopes       TEXT    NOT NULL,  -- words between spaces
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER,
	revoked_at   INTEGER,
	last_used_at INTEGER
);
CREATE INDEX board_api_tokens_user ON board_api_tokens (user_id);

CREATE TABLE board_idempotency (
	user_id      INTEGER NOT NULL REFERENCES board_users (id),
	key          TEXT    NOT NULL,
	request_hash TEXT    NOT NULL,
	body         TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	PRIMARY KEY (user_id, key)
);

CREATE TABLE board_reports (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	post_id    INTEGER NOT NULL REFERENCES board_post_ids (id),
	forum_id   INTEGER NOT NULL REFERENCES board_forums (id),
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	reason     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	UNIQUE (post_id, user_id)
);

CREATE TABLE board_moderation_log (
	id        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	actor_id  INTEGER,
	action    TEXT    NOT NULL,
	forum_id  INTEGER,
	thread_id INTEGER,
	post_id   INTEGER,
	detail    TEXT    NOT NULL DEFAULT '',
	at        INTEGER NOT NULL
);

CREATE TABLE board_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

CREATE TABLE board_word_filters (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	pattern     TEXT NOT NULL,
	replacement TEXT NOT NULL,
	action      TEXT NOT NULL DEFAULT 'replace'  -- or hold
);

-- One row; every change of what decides on permissions adds one.
CREATE TABLE board_permission_version (
	version INTEGER NOT NULL
);
INSERT INTO board_permission_version (version) VALUES (1);

CREATE VIRTUAL TABLE board_search USING fts5 (title, message, content = '', contentless_delete = 1, tokenize = 'unicode61');

-- +goose Down
DROP TABLE board_search;
DROP TABLE board_permission_version;
DROP TABLE board_word_filters;
DROP TABLE board_settings;
DROP TABLE board_moderation_log;
DROP TABLE board_reports;
DROP TABLE board_idempotency;
DROP TABLE board_api_tokens;
DROP TABLE board_forum_reads;
DROP TABLE board_thread_reads;
DROP TABLE board_notifications;
DROP TABLE board_subscriptions;
DROP TABLE board_post_revisions;
DROP TABLE board_post_ids;
DROP TABLE board_posts;
DROP TABLE board_threads;
DROP TABLE board_prefix_forums;
DROP TABLE board_prefixes;
DROP TABLE board_forum_moderators;
DROP TABLE board_forum_overrides;
DROP TABLE board_forums;
DROP TABLE board_user_groups;
DROP TABLE board_groups;
DROP TABLE board_users;
