-- +goose Up
-- Times are Unix microseconds, flags 0 and 1. The visibility of threads and posts is 0 for visible, 1 for unapproved
-- and 2 for deleted ones.

-- ---- Members ----

CREATE TABLE board_users (
	id               {{id}},
	username         TEXT NOT NULL,
	username_key     TEXT {{bytewise}} NOT NULL UNIQUE, -- folded, so that names differ in more than case
	email            TEXT NOT NULL,
	email_key        TEXT UNIQUE, -- folded; NULL: no address
	email_confirmed  SMALLINT NOT NULL DEFAULT 0, -- 1: the owner of the address has opened a link in a mail to it
	-- The address that replaces the other one when a link in a mail to it is opened.
	email_asked      TEXT NOT NULL DEFAULT '',
	password_hash    TEXT NOT NULL, -- empty: no password is accepted
	password_once    SMALLINT NOT NULL DEFAULT 0, -- 1: an administrator has seen it; it must be changed at sign-in
	state            TEXT NOT NULL, -- active, awaiting, unconfirmed, banned or deleted
	banned_until     BIGINT,
	suspended_until  BIGINT,
	moderated        SMALLINT NOT NULL DEFAULT 0, -- 1: every post is held for approval
	moderated_until  BIGINT NOT NULL DEFAULT 0, -- until then every post is held because of warnings
	post_count       BIGINT NOT NULL DEFAULT 0,
	joined_at        BIGINT NOT NULL,
	last_active_at   BIGINT,
	last_post_at     BIGINT,
	title            TEXT NOT NULL DEFAULT '',
	bio              TEXT NOT NULL DEFAULT '',
	time_zone        TEXT NOT NULL DEFAULT 'UTC', -- the IANA name
	-- The language of pages and mails that the member has chosen; empty: the browser decides.
	language         TEXT NOT NULL DEFAULT '',
	message_mails    BIGINT NOT NULL DEFAULT 1, -- 0: no mails about private messages
	mention_mails    BIGINT NOT NULL DEFAULT 1, -- 0: no mails about posts that mention the member
	accepts_messages BIGINT NOT NULL DEFAULT 1, -- 0: others may not start conversations with the member
	reaction_notices BIGINT NOT NULL DEFAULT 1, -- 0: no notifications of reactions and answers
	-- When the member gets digests: the hour in the member's time zone, and the day of weekly ones (0: Sunday).
	-- digest_at is a past time of a digest, from which the next ones are computed; see the package following. It begins
	-- as a Monday at 6:00 UTC.
	digest_hour      BIGINT NOT NULL DEFAULT 6,
	digest_day       BIGINT NOT NULL DEFAULT 1,
	digest_at        BIGINT NOT NULL DEFAULT 367200000000,
	-- When each bucket of the flood control is full again.
	flood_posts      BIGINT NOT NULL DEFAULT 0,
	flood_edits      BIGINT NOT NULL DEFAULT 0,
	hourly_threads   BIGINT NOT NULL DEFAULT 0,
	hourly_posts     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX board_users_state ON board_users (state, username_key);
CREATE INDEX board_users_unconfirmed ON board_users (joined_at) WHERE state = 'unconfirmed';
-- For lists of the members of a state: the newest, the last seen and those with the most posts first.
CREATE INDEX board_users_joined ON board_users (state, joined_at, id);
CREATE INDEX board_users_seen ON board_users (state, (COALESCE(last_active_at, 0)), id);
CREATE INDEX board_users_posts ON board_users (state, post_count, id);

-- What names look like. Of members whose names already looked alike when this was introduced, one has the skeleton
-- and the others clash with it.
CREATE TABLE board_names (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	skeleton TEXT {{bytewise}} NOT NULL,
	clashes  SMALLINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, skeleton)
) {{without rowid}};
CREATE UNIQUE INDEX board_names_skeleton ON board_names (skeleton) WHERE clashes = 0;
CREATE INDEX board_names_clashes ON board_names (skeleton, user_id) WHERE clashes = 1;

-- The accounts of members at OpenID providers.
CREATE TABLE board_identities (
	issuer  TEXT {{bytewise}} NOT NULL,
	subject TEXT {{bytewise}} NOT NULL,
	user_id BIGINT NOT NULL REFERENCES board_users (id),
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- nobody else of a provider gets into a member's account
) {{without rowid}};

CREATE TABLE board_sessions (
	id           {{id}},
	secret_hash  TEXT NOT NULL UNIQUE, -- the SHA-256 of the cookie in hex
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL, -- when the password was last entered
	-- The OpenID provider with which the member signed in; empty: with a password.
	issuer       TEXT NOT NULL DEFAULT ''
);
CREATE INDEX board_sessions_user ON board_sessions (user_id);
CREATE INDEX board_sessions_seen ON board_sessions (seen_at);

CREATE TABLE board_api_tokens (
	id           {{id}},
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	name         TEXT NOT NULL,
	lookup       TEXT NOT NULL UNIQUE,
	secret_hash  TEXT NOT NULL, -- the SHA-256 of the secret in hex
	scopes       TEXT NOT NULL, -- words separated by spaces
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT,
	revoked_at   BIGINT,
	last_used_at BIGINT
);
CREATE INDEX board_api_tokens_user ON board_api_tokens (user_id{{, id}});

-- Counts what is limited by account and address: failed logins, registrations.
CREATE TABLE board_attempts (
	key     TEXT NOT NULL PRIMARY KEY, -- a hash
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL -- when the count begins again
);
CREATE INDEX board_attempts_ends ON board_attempts (ends_at);

-- Links that are mailed to prove an address; each works once. The row of the mail in board_mails has the source link,
-- and the id of the link as its thread.
CREATE TABLE board_links (
	id          {{id}},
	kind        TEXT NOT NULL, -- reset, email, or notice, a mail without a link
	user_id     BIGINT NOT NULL REFERENCES board_users (id),
	email       TEXT NOT NULL, -- the address of the mail
	-- The language of the page on which the mail was requested; empty: unknown.
	language    TEXT NOT NULL DEFAULT '',
	secret_hash TEXT UNIQUE, -- the SHA-256 of the secret in hex; NULL: the mail is not sent yet
	expires_at  BIGINT NOT NULL
);
CREATE INDEX board_links_user ON board_links (user_id);
CREATE INDEX board_links_expires ON board_links (expires_at);

-- Pictures of members. Their content is stored like that of attachments.
CREATE TABLE board_avatars (
	user_id    {{rowid}} NOT NULL PRIMARY KEY REFERENCES board_users (id),
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	sha256     TEXT NOT NULL, -- in hex; names the content
	width      BIGINT NOT NULL,
	height     BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX board_avatars_content ON board_avatars (sha256);

-- The number of visible posts of a member in visible threads, by forum, so that a profile counts only posts that its
-- reader may see. The forum 0 stands for posts of the member in no forum of this board, such as those before an
-- import.
CREATE TABLE board_member_posts (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL,
	posts    BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) {{without rowid}};

-- ---- Groups and permissions ----

CREATE TABLE board_groups (
	id                {{id}},
	name              TEXT NOT NULL UNIQUE,
	kind              TEXT NOT NULL, -- guest, registered, staff or custom
	allow_mask        BIGINT NOT NULL,
	restrict_mask     BIGINT NOT NULL DEFAULT 0,
	edit_window_min   BIGINT NOT NULL DEFAULT 1440, -- 0: no limit
	max_posts_per_day BIGINT NOT NULL DEFAULT 0 -- 0: no limit
);

CREATE TABLE board_user_groups (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	group_id BIGINT NOT NULL REFERENCES board_groups (id),
	PRIMARY KEY (user_id, group_id)
);
CREATE INDEX board_user_groups_group ON board_user_groups (group_id, user_id);

-- The only row. Each change that affects permissions increases the version.
CREATE TABLE board_permission_version (
	version BIGINT NOT NULL
);
INSERT INTO board_permission_version (version) VALUES (1);

-- ---- Forums ----

CREATE TABLE board_forums (
	id               {{id}},
	parent_id        BIGINT REFERENCES board_forums (id),
	path             TEXT NOT NULL, -- the ids from the root, each after a slash
	depth            BIGINT NOT NULL,
	position         BIGINT NOT NULL,
	type             TEXT NOT NULL, -- category, forum or link
	title            TEXT NOT NULL,
	slug             TEXT NOT NULL UNIQUE,
	description      TEXT NOT NULL DEFAULT '',
	link_url         TEXT,
	is_open          SMALLINT NOT NULL DEFAULT 1,
	allow_threads    SMALLINT NOT NULL DEFAULT 1,
	allow_replies    SMALLINT NOT NULL DEFAULT 1,
	moderate_threads SMALLINT NOT NULL DEFAULT 0,
	moderate_posts   SMALLINT NOT NULL DEFAULT 0,
	requires_prefix  SMALLINT NOT NULL DEFAULT 0,
	answers          BIGINT NOT NULL DEFAULT 0, -- 1: a reply can be marked as the answer of its thread
	flood_seconds    BIGINT, -- NULL: that of the board; 0: none
	min_words        BIGINT,
	max_words        BIGINT,
	thread_count     BIGINT NOT NULL DEFAULT 0,
	post_count       BIGINT NOT NULL DEFAULT 0,
	-- The next three are not used: the newest thread says the same.
	last_post_id     BIGINT,
	last_thread_id   BIGINT,
	last_post_at     BIGINT
);

-- What posts have added to thread_count and post_count of a forum, in several rows, so that posts to different
-- threads at the same time do not wait for each other. Readers add all of them up.
CREATE TABLE board_forum_counts (
	forum_id BIGINT NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	slot     SMALLINT NOT NULL,
	threads  BIGINT NOT NULL,
	posts    BIGINT NOT NULL,
	PRIMARY KEY (forum_id, slot)
) {{without rowid}};

-- Permissions of a group in a forum. A bit that is in neither mask is inherited.
CREATE TABLE board_forum_overrides (
	forum_id   BIGINT NOT NULL REFERENCES board_forums (id),
	group_id   BIGINT NOT NULL REFERENCES board_groups (id),
	set_mask   BIGINT NOT NULL,
	clear_mask BIGINT NOT NULL,
	PRIMARY KEY (forum_id, group_id)
);

CREATE TABLE board_forum_moderators (
	id          {{id}},
	forum_id    BIGINT NOT NULL REFERENCES board_forums (id),
	user_id     BIGINT REFERENCES board_users (id),
	group_id    BIGINT REFERENCES board_groups (id),
	rights_mask BIGINT NOT NULL,
	cascades    SMALLINT NOT NULL
);

CREATE TABLE board_prefixes (
	id       {{id}},
	label    TEXT NOT NULL UNIQUE,
	position BIGINT NOT NULL
);

CREATE TABLE board_prefix_forums (
	forum_id  BIGINT NOT NULL REFERENCES board_forums (id),
	prefix_id BIGINT NOT NULL REFERENCES board_prefixes (id),
	PRIMARY KEY (forum_id, prefix_id)
);

-- When a member's bucket is full again in a forum with a flood time of its own, so that a post in a slow forum does
-- not keep the member from posting in others.
CREATE TABLE board_forum_floods (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	full_at  BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) {{without rowid}};
CREATE INDEX board_forum_floods_full ON board_forum_floods (full_at);

-- ---- Threads and posts ----

CREATE TABLE board_threads (
	id               {{id}},
	forum_id         BIGINT NOT NULL REFERENCES board_forums (id),
	title            TEXT NOT NULL,
	slug             TEXT NOT NULL,
	author_id        BIGINT REFERENCES board_users (id),
	author_name      TEXT NOT NULL,
	prefix_id        BIGINT REFERENCES board_prefixes (id),
	visibility       SMALLINT NOT NULL,
	is_sticky        SMALLINT NOT NULL DEFAULT 0,
	is_locked        SMALLINT NOT NULL DEFAULT 0,
	reply_count      BIGINT NOT NULL DEFAULT 0,
	view_count       BIGINT NOT NULL DEFAULT 0,
	first_post_id    BIGINT NOT NULL DEFAULT 0,
	last_post_id     BIGINT NOT NULL DEFAULT 0,
	answer_id        BIGINT NOT NULL DEFAULT 0, -- the reply that is marked as the answer; 0: none
	last_poster_name TEXT NOT NULL,
	created_at       BIGINT NOT NULL,
	last_post_at     BIGINT NOT NULL,
	next_number      BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX board_threads_forum_visible ON board_threads (forum_id, last_post_at{{, id}}) WHERE visibility = 0;
CREATE INDEX board_threads_forum_all ON board_threads (forum_id, last_post_at{{, id}});
CREATE INDEX board_threads_sticky ON board_threads (forum_id, last_post_at{{, id}}) WHERE is_sticky = 1;
CREATE INDEX board_threads_held_author ON board_threads (author_id, forum_id, last_post_at{{, id}}) WHERE visibility = 1;
CREATE INDEX board_threads_author ON board_threads (author_id, forum_id, last_post_at{{, id}});
CREATE INDEX board_threads_prefix ON board_threads (prefix_id) WHERE prefix_id IS NOT NULL;
-- For the newest threads of all forums.
CREATE INDEX board_threads_newest ON board_threads (last_post_at{{, id}}) WHERE visibility = 0;

CREATE TABLE board_posts (
	thread_id      BIGINT NOT NULL REFERENCES board_threads (id),
	id             BIGINT NOT NULL,
	number         BIGINT NOT NULL, -- counts the posts of the thread from 1, without gaps
	author_id      BIGINT REFERENCES board_users (id),
	author_name    TEXT NOT NULL,
	visibility     SMALLINT NOT NULL,
	message        TEXT NOT NULL,
	message_html   TEXT NOT NULL,
	render_version BIGINT NOT NULL,
	body_hash      TEXT NOT NULL,
	created_at     BIGINT NOT NULL,
	edited_at      BIGINT, -- NULL: no note of an edit is shown
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (thread_id, id)
) {{without rowid}};
{{postgres}}CREATE INDEX board_posts_visible ON board_posts (thread_id, id) WHERE visibility = 0;

-- Assigns the ids of posts and finds them by id, by author and, while they are held, by forum. The visibility 3
-- stands for a post in board_posts_archive.
CREATE TABLE board_post_ids (
	id          {{id}},
	thread_id   BIGINT NOT NULL REFERENCES board_threads (id),
	forum_id    BIGINT NOT NULL REFERENCES board_forums (id),
	author_id   BIGINT REFERENCES board_users (id),
	visibility  SMALLINT NOT NULL,
	held_reason TEXT,
	created_at  BIGINT NOT NULL
);
CREATE INDEX board_post_ids_held ON board_post_ids (forum_id{{, id}}) WHERE visibility = 1;
CREATE INDEX board_post_ids_held_author ON board_post_ids (author_id, thread_id{{, id}}) WHERE visibility = 1;
CREATE INDEX board_post_ids_author ON board_post_ids (author_id{{, id}});
CREATE INDEX board_post_ids_deleted ON board_post_ids (thread_id, created_at) WHERE visibility = 2;

-- Deleted posts in a row of a thousand and more, which lists of posts need not skip.
CREATE TABLE board_posts_archive (
	thread_id      BIGINT NOT NULL REFERENCES board_threads (id),
	id             {{rowid}} NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
	number         BIGINT NOT NULL,
	author_id      BIGINT REFERENCES board_users (id),
	author_name    TEXT NOT NULL,
	visibility     SMALLINT NOT NULL,
	message        TEXT NOT NULL,
	message_html   TEXT NOT NULL,
	render_version BIGINT NOT NULL,
	body_hash      TEXT NOT NULL,
	created_at     BIGINT NOT NULL,
	edited_at      BIGINT,
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     BIGINT NOT NULL
);
CREATE INDEX board_posts_archive_thread ON board_posts_archive (thread_id);

CREATE TABLE board_post_revisions (
	post_id   BIGINT NOT NULL REFERENCES board_post_ids (id),
	revision  BIGINT NOT NULL,
	message   TEXT NOT NULL, -- the text before the edit
	edited_by TEXT NOT NULL,
	edited_at BIGINT NOT NULL,
	reason    TEXT,
	PRIMARY KEY (post_id, revision)
);

-- Tags of threads.
CREATE TABLE board_tags (
	id       {{id}},
	name     TEXT NOT NULL,
	name_key TEXT {{bytewise}} NOT NULL UNIQUE
);

-- The last_post_at is that of the thread. Lists of the threads of a tag are sorted by it.
CREATE TABLE board_thread_tags (
	tag_id       BIGINT NOT NULL REFERENCES board_tags (id),
	thread_id    BIGINT NOT NULL REFERENCES board_threads (id),
	last_post_at BIGINT NOT NULL,
	PRIMARY KEY (tag_id, thread_id)
);
CREATE INDEX board_thread_tags_newest ON board_thread_tags (tag_id, last_post_at, thread_id);
CREATE INDEX board_thread_tags_thread ON board_thread_tags (thread_id);

-- Reactions of members to posts, and the number of each kind of a post.
CREATE TABLE board_reactions (
	post_id    BIGINT NOT NULL,
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	kind       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (post_id, user_id)
);
CREATE INDEX board_reactions_user ON board_reactions (user_id);

CREATE TABLE board_reaction_counts (
	post_id BIGINT NOT NULL,
	kind    TEXT NOT NULL,
	n       BIGINT NOT NULL,
	PRIMARY KEY (post_id, kind)
);

CREATE TABLE board_attachments (
	id         {{id}},
	thread_id  BIGINT NOT NULL,
	post_id    BIGINT NOT NULL REFERENCES board_post_ids (id),
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	sha256     TEXT NOT NULL, -- in hex; names the content
	width      BIGINT, -- width and height of an image
	height     BIGINT,
	created_at BIGINT NOT NULL,
	removed_at BIGINT, -- it counts for the member until the content is deleted
	-- 1: the image has no metadata, or the file is no image. 0: not checked yet.
	stripped   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX board_attachments_post ON board_attachments (post_id) WHERE removed_at IS NULL;
CREATE INDEX board_attachments_removed ON board_attachments (created_at) WHERE removed_at IS NOT NULL;
CREATE INDEX board_attachments_user ON board_attachments (user_id, size);
CREATE INDEX board_attachments_content ON board_attachments (sha256);
CREATE INDEX board_attachments_unstripped ON board_attachments (id) WHERE stripped = 0;

-- The content of files, if it is stored in the database, in parts of 256 KiB.
CREATE TABLE board_contents (
	sha256    TEXT NOT NULL,
	part      BIGINT NOT NULL,
	data      {{bytes}} NOT NULL,
	stored_at BIGINT NOT NULL,
	PRIMARY KEY (sha256, part)
);

-- Threads whose posts were moved to another one, to which their addresses lead. While that is in progress,
-- first_number is the number that is reserved for the first post.
CREATE TABLE board_merged_threads (
	thread_id    BIGINT NOT NULL PRIMARY KEY REFERENCES board_threads (id),
	into_id      BIGINT NOT NULL REFERENCES board_threads (id),
	first_post   BIGINT NOT NULL,
	first_number BIGINT NOT NULL,
	merged_at    BIGINT -- NULL: in progress
);
CREATE INDEX board_merged_threads_into ON board_merged_threads (into_id);
CREATE INDEX board_merged_threads_undone ON board_merged_threads (thread_id) WHERE merged_at IS NULL;

-- Numbers that posts had in threads they were moved out of. Addresses with such a number lead to the post.
CREATE TABLE board_moved_posts (
	thread_id BIGINT NOT NULL REFERENCES board_threads (id),
	number    BIGINT NOT NULL,
	post_id   BIGINT NOT NULL,
	PRIMARY KEY (thread_id, number)
);

-- The full-text index. FTS5 merges 64 and more leaves at a time during a reply: that delays other writers by 20 ms with
-- leaves of 4,050 bytes and by 5 ms with these. PostgreSQL collects new words in a list. A job adds them to the index;
-- replies do so only if the list is longer than this limit in kB.
{{sqlite}}CREATE VIRTUAL TABLE board_search USING fts5 (title, message,
{{sqlite}}	content = '', contentless_delete = 1, tokenize = 'unicode61');
{{sqlite}}INSERT INTO board_search (board_search, rank) VALUES ('pgsz', 1000);
{{postgres}}CREATE TABLE board_search (
{{postgres}}	post_id BIGINT NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
{{postgres}}	words   TSVECTOR NOT NULL
{{postgres}});
{{postgres}}CREATE INDEX board_search_words ON board_search USING gin (words) WITH (gin_pending_list_limit = 32768);

-- ---- What members read, follow and write ----

CREATE TABLE board_thread_reads (
	user_id           BIGINT NOT NULL REFERENCES board_users (id),
	thread_id         BIGINT NOT NULL REFERENCES board_threads (id),
	last_read_post_id BIGINT NOT NULL,
	read_at           BIGINT NOT NULL,
	PRIMARY KEY (user_id, thread_id)
);
CREATE INDEX board_thread_reads_age ON board_thread_reads (read_at);

CREATE TABLE board_forum_reads (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL REFERENCES board_forums (id),
	read_at  BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
);

CREATE TABLE board_subscriptions (
	user_id               BIGINT NOT NULL REFERENCES board_users (id),
	target                TEXT NOT NULL, -- thread or forum
	target_id             BIGINT NOT NULL,
	mode                  TEXT NOT NULL, -- instant, daily, weekly or none
	created_at            BIGINT NOT NULL,
	last_notified_post_id BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, target, target_id)
);
CREATE INDEX board_subscriptions_target ON board_subscriptions (target, target_id);

CREATE TABLE board_notifications (
	id         {{id}},
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	kind       TEXT NOT NULL,
	thread_id  BIGINT NOT NULL,
	post_id    BIGINT NOT NULL,
	actor_name TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	read_at    BIGINT
);
CREATE INDEX board_notifications_user ON board_notifications (user_id{{, id}});
CREATE INDEX board_notifications_age ON board_notifications (created_at);

-- Posts that members have bookmarked. The bookmark of a thread is that of its first post.
CREATE TABLE board_bookmarks (
	id         {{id}},
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	post_id    BIGINT NOT NULL,
	note       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (user_id, post_id)
);
CREATE INDEX board_bookmarks_list ON board_bookmarks (user_id, id);

-- Texts that members have begun and not posted. place is a reply in a thread, a new thread in a forum or a message in
-- a conversation, whose place_id is 0 if it is a new one; see the package drafts.
CREATE TABLE board_drafts (
	id         {{id}},
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	place      TEXT NOT NULL,
	place_id   BIGINT NOT NULL,
	title      TEXT NOT NULL,
	recipients TEXT NOT NULL,
	prefix_id  BIGINT NOT NULL,
	message    TEXT NOT NULL,
	saved_at   BIGINT NOT NULL,
	UNIQUE (user_id, place, place_id)
);
CREATE INDEX board_drafts_age ON board_drafts (saved_at);

-- Requests with an Idempotency-Key and their answers.
CREATE TABLE board_idempotency (
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	key          TEXT NOT NULL,
	request_hash TEXT NOT NULL,
	body         TEXT NOT NULL,
	created_at   BIGINT NOT NULL,
	PRIMARY KEY (user_id, key)
);
CREATE INDEX board_idempotency_age ON board_idempotency (created_at);

-- ---- Private messages ----

CREATE TABLE board_conversations (
	id         {{id}},
	title      TEXT NOT NULL,
	starter_id BIGINT REFERENCES board_users (id), -- NULL: deleted
	created_at BIGINT NOT NULL
);
CREATE INDEX board_conversations_starter ON board_conversations (starter_id, created_at);

CREATE TABLE board_conversation_messages (
	id              {{id}},
	conversation_id BIGINT NOT NULL REFERENCES board_conversations (id),
	author_id       BIGINT REFERENCES board_users (id), -- NULL: deleted
	message         TEXT NOT NULL,
	created_at      BIGINT NOT NULL
);
CREATE INDEX board_conversation_messages_conversation ON board_conversation_messages (conversation_id, id);
CREATE INDEX board_conversation_messages_author ON board_conversation_messages (author_id);

-- last_id repeats the last message of the conversation, by which the list of a member is sorted.
CREATE TABLE board_conversation_members (
	conversation_id BIGINT NOT NULL REFERENCES board_conversations (id),
	user_id         BIGINT NOT NULL REFERENCES board_users (id),
	last_id         BIGINT NOT NULL,
	read_id         BIGINT NOT NULL,
	-- The last message about which the member got a mail. No other is sent before the member has read it.
	mailed_id       BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX board_conversation_members_list ON board_conversation_members (user_id, last_id);
CREATE INDEX board_conversation_members_unread ON board_conversation_members (user_id) WHERE read_id < last_id;

-- Members who accept no private messages from another one.
CREATE TABLE board_blocks (
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	blocked_id BIGINT NOT NULL REFERENCES board_users (id),
	created_at BIGINT NOT NULL,
	PRIMARY KEY (user_id, blocked_id)
);
CREATE INDEX board_blocks_blocked ON board_blocks (blocked_id);

-- ---- Moderation ----

-- A member may report a post again after the earlier report is closed.
CREATE TABLE board_reports (
	id         {{id}},
	post_id    BIGINT NOT NULL REFERENCES board_post_ids (id),
	forum_id   BIGINT NOT NULL REFERENCES board_forums (id),
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	reason     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	closed_at  BIGINT,
	closed_by  BIGINT,
	note       TEXT
);
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;
CREATE INDEX board_reports_member ON board_reports (post_id, user_id);
CREATE UNIQUE INDEX board_reports_member_open ON board_reports (post_id, user_id) WHERE closed_at IS NULL;

-- Reports of private messages. A message may be deleted while its report is open.
CREATE TABLE board_message_reports (
	id         {{id}},
	message_id BIGINT NOT NULL,
	user_id    BIGINT REFERENCES board_users (id), -- NULL: deleted
	reason     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	closed_at  BIGINT,
	closed_by  BIGINT,
	note       TEXT,
	UNIQUE (message_id, user_id)
);
CREATE INDEX board_message_reports_open ON board_message_reports (id) WHERE closed_at IS NULL;
CREATE INDEX board_message_reports_user ON board_message_reports (user_id, created_at);

-- Copies of the reported message and of the last ones before it, for the moderators. They are deleted when the report
-- is closed.
CREATE TABLE board_reported_messages (
	report_id  BIGINT NOT NULL REFERENCES board_message_reports (id),
	message_id BIGINT NOT NULL,
	author_id  BIGINT REFERENCES board_users (id), -- NULL: deleted
	message    TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (report_id, message_id)
);
CREATE INDEX board_reported_messages_author ON board_reported_messages (author_id);

-- Warnings that moderators give to members.
CREATE TABLE board_warnings (
	id           {{id}},
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	post_id      BIGINT NOT NULL,
	forum_id     BIGINT NOT NULL,
	actor_id     BIGINT NOT NULL,
	actor_name   TEXT NOT NULL,
	reason       TEXT NOT NULL,
	points       BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL, -- 0: never
	suspended_to BIGINT NOT NULL DEFAULT 0, -- the end of the suspension that the warning caused
	withdrawn_at BIGINT NOT NULL DEFAULT 0,
	withdrawn_by TEXT NOT NULL DEFAULT ''
);
CREATE INDEX board_warnings_user ON board_warnings (user_id, id);

-- Notes of moderators about members, which the members do not see.
CREATE TABLE board_member_notes (
	id          {{id}},
	user_id     BIGINT NOT NULL REFERENCES board_users (id),
	author_id   BIGINT NOT NULL,
	author_name TEXT NOT NULL,
	message     TEXT NOT NULL,
	created_at  BIGINT NOT NULL
);
CREATE INDEX board_member_notes_user ON board_member_notes (user_id, id);

CREATE TABLE board_moderation_log (
	id        {{id}},
	actor_id  BIGINT,
	action    TEXT NOT NULL,
	forum_id  BIGINT,
	thread_id BIGINT,
	post_id   BIGINT,
	detail    TEXT NOT NULL DEFAULT '',
	at        BIGINT NOT NULL
);
CREATE INDEX board_moderation_log_forum ON board_moderation_log (forum_id, id);
CREATE INDEX board_moderation_log_actor ON board_moderation_log (actor_id, id);
CREATE INDEX board_moderation_log_action ON board_moderation_log (action, id);

CREATE TABLE board_word_filters (
	id          {{id}},
	pattern     TEXT NOT NULL,
	replacement TEXT NOT NULL,
	action      TEXT NOT NULL DEFAULT 'replace' -- or hold
);

-- ---- Webhooks and mails that wait to be sent ----

CREATE TABLE board_webhooks (
	id              {{id}},
	url             TEXT NOT NULL,
	topics          TEXT NOT NULL, -- words, each between spaces, such as ' post.created post.held '
	secret          TEXT NOT NULL, -- sealed
	enabled         BIGINT NOT NULL DEFAULT 1,
	disabled_reason TEXT NOT NULL DEFAULT '',
	created_by      TEXT NOT NULL,
	created_at      BIGINT NOT NULL
);

-- What is to be sent, written in the transaction of the change.
CREATE TABLE board_webhook_deliveries (
	id           {{id}},
	webhook_id   BIGINT NOT NULL REFERENCES board_webhooks (id) ON DELETE CASCADE,
	event        TEXT NOT NULL, -- the same for all webhooks
	topic        TEXT NOT NULL,
	body         TEXT NOT NULL,
	state        TEXT NOT NULL DEFAULT 'pending', -- pending, delivered or failed
	attempts     BIGINT NOT NULL DEFAULT 0,
	next_at      BIGINT, -- NULL: no more attempts
	leased_until BIGINT NOT NULL DEFAULT 0, -- a node is sending it
	answer       TEXT NOT NULL DEFAULT '', -- the result of the last attempt
	created_at   BIGINT NOT NULL,
	tried_at     BIGINT
);
CREATE INDEX board_webhook_deliveries_due ON board_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX board_webhook_deliveries_webhook ON board_webhook_deliveries (webhook_id);
CREATE INDEX board_webhook_deliveries_age ON board_webhook_deliveries (created_at);

-- Threads about which a member is to get a mail. Further posts of a thread extend the waiting row.
CREATE TABLE board_mails (
	id            {{id}},
	user_id       BIGINT NOT NULL REFERENCES board_users (id),
	mode          TEXT NOT NULL, -- instant, daily or weekly
	source        TEXT NOT NULL, -- what the member follows: thread or forum
	thread_id     BIGINT NOT NULL,
	first_post_id BIGINT NOT NULL,
	last_post_id  BIGINT NOT NULL,
	due_at        BIGINT NOT NULL,
	attempts      BIGINT NOT NULL DEFAULT 0,
	leased_until  BIGINT NOT NULL DEFAULT 0,
	created_at    BIGINT NOT NULL,
	UNIQUE (user_id, mode, thread_id)
);
CREATE INDEX board_mails_due ON board_mails (due_at);

-- ---- Settings and imports ----

CREATE TABLE board_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

-- How much of each fixture is loaded.
CREATE TABLE board_seeds (
	fixture TEXT NOT NULL, -- the digest of its beginning
	part    TEXT NOT NULL,
	done    BIGINT NOT NULL, -- the number of elements
	PRIMARY KEY (fixture, part)
);

-- Ids in the program from which data was imported, and here. Old addresses lead to the new ones by it, and an
-- interrupted import continues.
CREATE TABLE board_moved (
	program TEXT NOT NULL, -- such as phpbb
	kind    TEXT NOT NULL, -- member, forum, thread, post or file
	old_id  BIGINT NOT NULL,
	new_id  BIGINT NOT NULL,
	PRIMARY KEY (program, kind, old_id)
) {{without rowid}};
