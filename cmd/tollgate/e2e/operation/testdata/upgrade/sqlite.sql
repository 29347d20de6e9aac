-- root: brd_pat_hxcefzxdq5_hwcCNNJTNt7EzuC4cNWq7B6T0LW57rLEJjsT28CElmE
-- ada: brd_pat_4nay7mcnjv_NAdkbtWr7YFhi_rSamdRr7y2S-W1DMO9uVOllF3iftQ
-- bob: brd_pat_5oefvhjgub_86GRD2dvAUsn-HbmBBnrWN6NJO7psIPSKdOQlTx_fHs
-- once: 6
-- gateway_key: ak-hNLTYJqzVoGjU1OhZzY7ewlTiL45M2NBej6gm2cT

BEGIN;
CREATE TABLE schema_keyring (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_keyring VALUES (1, 0, 1, '2026-11-28 14:08:10');
INSERT INTO schema_keyring VALUES (2, 1, 1, '2026-11-28 14:08:10');
CREATE TABLE schema_board (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_board VALUES (1, 0, 1, '2026-11-28 14:08:10');
INSERT INTO schema_board VALUES (2, 31, 1, '2026-11-28 14:08:10');
CREATE TABLE schema_events (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_events VALUES (1, 0, 1, '2026-11-28 14:08:10');
INSERT INTO schema_events VALUES (2, 8, 1, '2026-11-28 14:08:10');
CREATE TABLE schema_gateway (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_gateway VALUES (1, 0, 1, '2026-11-28 14:08:10');
INSERT INTO schema_gateway VALUES (2, 30, 1, '2026-11-28 14:08:10');
CREATE TABLE keyring_checks (
	service TEXT NOT NULL PRIMARY KEY,
	sealed  TEXT NOT NULL
);
INSERT INTO keyring_checks VALUES ('board', 'aes1.4oVf29OctbHp6p_ah2-lsel7yAk95KST2OT6RofxtSbWek0l5zIbEV-asg8');
INSERT INTO keyring_checks VALUES ('gateway', 'aes1.4oVf2xQO4AwJVayimY7BZ3G0vYLE1_uGt48qBT66s8Q6bzyN-YAZxKHGKzg');
CREATE TABLE board_users (
	id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	username         TEXT NOT NULL,
	username_key     TEXT  NOT NULL UNIQUE, -- folded, so that names differ in more than case
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
INSERT INTO board_users VALUES (1, 'root', 'root', 'root@example.com', 'root@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$a3WWGMyLqN8i8Nw1Vt9DmA$GWv1RBDK1pV6DPEKPqUuon9ySgM0/D4nOMxHH+lZb5I', 0, 'active', NULL, NULL, 0, 0, 0, 1795377561184521, 1795377561657549, NULL, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0);
INSERT INTO board_users VALUES (2, 'ada', 'ada', 'ada@example.com', 'ada@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$0b/hII3Mm03CcmQYLz7dxQ$/MD2ti73R2S5H/iWaF7GiqDxnEOw9ZYz1Ayen4tmXzU', 0, 'active', NULL, NULL, 0, 0, 12, 1795377561241781, 1795377561758714, 1767225840000000, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0);
INSERT INTO board_users VALUES (3, 'bob', 'bob', 'bob@example.com', 'bob@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$yukQW9h+TQm34T36Y5U5hQ$RVz9ipbcWf2A34VZjeECldq3AkBED2CY7lA2jnOpdDA', 0, 'active', NULL, NULL, 0, 0, 13, 1795377561276878, NULL, 1795377561761319, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0);
CREATE TABLE board_names (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	skeleton TEXT  NOT NULL,
	clashes  SMALLINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, skeleton)
) WITHOUT ROWID;
INSERT INTO board_names VALUES (1, 'root', 0);
INSERT INTO board_names VALUES (2, 'ada', 0);
INSERT INTO board_names VALUES (3, 'bob', 0);
CREATE TABLE board_identities (
	issuer  TEXT  NOT NULL,
	subject TEXT  NOT NULL,
	user_id BIGINT NOT NULL REFERENCES board_users (id),
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- nobody else of a provider gets into a member's account
) WITHOUT ROWID;
CREATE TABLE board_sessions (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	secret_hash  TEXT NOT NULL UNIQUE, -- the SHA-256 of the cookie in hex
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL, -- when the password was last entered
	-- The OpenID provider with which the member signed in; empty: with a password.
	issuer       TEXT NOT NULL DEFAULT ''
);
INSERT INTO board_sessions VALUES (1, '8c2c3306e0bf85277f9f2111fd9a4a4c8882f35f1bef09580600b66492484ceb', 1, 1795377561657549, 4130596761657549, 1795377561657549, '');
INSERT INTO board_sessions VALUES (2, '4f911a1ea5f1a723a78658b7787fc54325310df4196d7ebe2cb8408afeea84fc', 2, 1795377561758714, 4130596761758714, 1795377561758714, '');
CREATE TABLE board_api_tokens (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_api_tokens VALUES (1, 1, 'root', 'hxcefzxdq5', '45216f4d53c982c9cfa0c4fa7beef472214c07b328db314d0aafa7f530bac0bb', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322795, NULL, NULL, 1795377561616569);
INSERT INTO board_api_tokens VALUES (2, 2, 'ada', '4nay7mcnjv', 'd5424e008e671e0cf2a2670f56caf0fbc0a2044f67f699e56bf5afe9cca72fcb', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322939, NULL, NULL, 1795377561619904);
INSERT INTO board_api_tokens VALUES (3, 3, 'bob', '5oefvhjgub', '63051aa173104a64a946d3bd432641160072618229712e7f5467e2141dbd8a02', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322964, NULL, NULL, 1795377561761079);
CREATE TABLE board_attempts (
	key     TEXT NOT NULL PRIMARY KEY, -- a hash
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL -- when the count begins again
);
INSERT INTO board_attempts VALUES ('0f3369d26055452b30b884c1a2f1b33c8e5fbf1064a98d7d4712f7d14db8350a', 0, 4130597661663358);
INSERT INTO board_attempts VALUES ('1eec7395582497be5790962479d24452f8e79225fcfeaaf6d1bab7604c98ba9a', 1, 4130600361762929);
INSERT INTO board_attempts VALUES ('2c0ab8bd32708a83224da6026f2b48bf878d503a062c041f8891a65eebd1e472', 1, 4130600361762929);
CREATE TABLE board_links (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind        TEXT NOT NULL, -- reset, email, or notice, a mail without a link
	user_id     BIGINT NOT NULL REFERENCES board_users (id),
	email       TEXT NOT NULL, -- the address of the mail
	-- The language of the page on which the mail was requested; empty: unknown.
	language    TEXT NOT NULL DEFAULT '',
	secret_hash TEXT UNIQUE, -- the SHA-256 of the secret in hex; NULL: the mail is not sent yet
	expires_at  BIGINT NOT NULL
);
INSERT INTO board_links VALUES (1, 'reset', 3, 'bob@example.com', '', NULL, 4130600361763017);
CREATE TABLE board_avatars (
	user_id    INTEGER NOT NULL PRIMARY KEY REFERENCES board_users (id),
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	sha256     TEXT NOT NULL, -- in hex; names the content
	width      BIGINT NOT NULL,
	height     BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE TABLE board_member_posts (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL,
	posts    BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) WITHOUT ROWID;
INSERT INTO board_member_posts VALUES (2, 0, 10);
INSERT INTO board_member_posts VALUES (2, 2, 1);
INSERT INTO board_member_posts VALUES (2, 3, 1);
INSERT INTO board_member_posts VALUES (3, 0, 10);
INSERT INTO board_member_posts VALUES (3, 2, 3);
CREATE TABLE board_groups (
	id                INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name              TEXT NOT NULL UNIQUE,
	kind              TEXT NOT NULL, -- guest, registered, staff or custom
	allow_mask        BIGINT NOT NULL,
	restrict_mask     BIGINT NOT NULL DEFAULT 0,
	edit_window_min   BIGINT NOT NULL DEFAULT 1440, -- 0: no limit
	max_posts_per_day BIGINT NOT NULL DEFAULT 0 -- 0: no limit
);
INSERT INTO board_groups VALUES (1, 'guest', 'guest', 137439739911, 0, 1440, 0);
INSERT INTO board_groups VALUES (2, 'registered', 'registered', 1030794117311, 0, 1440, 0);
INSERT INTO board_groups VALUES (3, 'moderators', 'staff', 3294242013183, 0, 0, 0);
INSERT INTO board_groups VALUES (4, 'administrators', 'staff', 4393753640959, 0, 0, 0);
CREATE TABLE board_user_groups (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	group_id BIGINT NOT NULL REFERENCES board_groups (id),
	PRIMARY KEY (user_id, group_id)
);
INSERT INTO board_user_groups VALUES (1, 2);
INSERT INTO board_user_groups VALUES (1, 4);
INSERT INTO board_user_groups VALUES (2, 2);
INSERT INTO board_user_groups VALUES (3, 2);
CREATE TABLE board_permission_version (
	version BIGINT NOT NULL
);
INSERT INTO board_permission_version VALUES (11);
CREATE TABLE board_forums (
	id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_forums VALUES (1, NULL, '/1', 0, 1, 'category', 'General', 'general', '', NULL, 1, 1, 1, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL);
INSERT INTO board_forums VALUES (2, 1, '/1/2', 1, 1, 'forum', 'Discussion', 'discussion', '', NULL, 1, 1, 1, 0, 0, 0, 0, NULL, NULL, NULL, 1, 2, NULL, NULL, NULL);
INSERT INTO board_forums VALUES (3, 1, '/1/3', 1, 2, 'forum', 'Private', 'private', '', NULL, 1, 1, 1, 0, 0, 0, 0, NULL, NULL, NULL, 1, 1, NULL, NULL, NULL);
CREATE TABLE board_forum_counts (
	forum_id BIGINT NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	slot     SMALLINT NOT NULL,
	threads  BIGINT NOT NULL,
	posts    BIGINT NOT NULL,
	PRIMARY KEY (forum_id, slot)
) WITHOUT ROWID;
INSERT INTO board_forum_counts VALUES (2, 1, 0, 2);
CREATE TABLE board_forum_overrides (
	forum_id   BIGINT NOT NULL REFERENCES board_forums (id),
	group_id   BIGINT NOT NULL REFERENCES board_groups (id),
	set_mask   BIGINT NOT NULL,
	clear_mask BIGINT NOT NULL,
	PRIMARY KEY (forum_id, group_id)
);
INSERT INTO board_forum_overrides VALUES (3, 1, 0, 1);
CREATE TABLE board_forum_moderators (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	forum_id    BIGINT NOT NULL REFERENCES board_forums (id),
	user_id     BIGINT REFERENCES board_users (id),
	group_id    BIGINT REFERENCES board_groups (id),
	rights_mask BIGINT NOT NULL,
	cascades    SMALLINT NOT NULL
);
CREATE TABLE board_prefixes (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	label    TEXT NOT NULL UNIQUE,
	position BIGINT NOT NULL
);
INSERT INTO board_prefixes VALUES (1, 'Question', 0);
CREATE TABLE board_prefix_forums (
	forum_id  BIGINT NOT NULL REFERENCES board_forums (id),
	prefix_id BIGINT NOT NULL REFERENCES board_prefixes (id),
	PRIMARY KEY (forum_id, prefix_id)
);
INSERT INTO board_prefix_forums VALUES (3, 1);
CREATE TABLE board_forum_floods (
	user_id  BIGINT NOT NULL REFERENCES board_users (id),
	forum_id BIGINT NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	full_at  BIGINT NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) WITHOUT ROWID;
CREATE TABLE board_threads (
	id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_threads VALUES (1, 2, 'A thread', 'a-thread', 2, 'ada', NULL, 0, 0, 0, 3, 1, 1, 7, 0, 'bob', 1767225600000000, 1795377561761319, 7);
INSERT INTO board_threads VALUES (2, 3, 'Another', 'another', 2, 'ada', 1, 0, 0, 0, 0, 0, 5, 5, 0, 'ada', 1767225840000000, 1767225840000000, 2);
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
) WITHOUT ROWID;
INSERT INTO board_posts VALUES (1, 1, 1, 2, 'ada', 0, 'the start', '<p>the start</p>
', 2, '9e7751dd1f7c0b494ceb90b33f9c8e81906985123d790bb32316e150ed6ecc26', 1767225600000000, NULL, NULL, NULL, 0);
INSERT INTO board_posts VALUES (1, 2, 2, 3, 'bob', 0, 'an answer that was edited', '<p>an answer that was edited</p>
', 2, 'a26cb0c5eeef1b90bcf4410745369b9aae00fa37a862d1d257994d89c40e9cb2', 1767225660000000, 1795377561616828, 'root', 'a mistake', 1);
INSERT INTO board_posts VALUES (1, 3, 3, 3, 'bob', 1, 'a held post', '<p>a held post</p>
', 2, '171696e755f8cf3170f6b832d3741b3a1566128490cf1a12df59c51da9aa37bd', 1767225720000000, NULL, NULL, NULL, 0);
INSERT INTO board_posts VALUES (1, 4, 4, 3, 'bob', 2, 'a deleted post', '<p>a deleted post</p>
', 2, 'c7328334ebaedddfb35cf3c51e4f33e03e3ecd308bdd78bc31d3075197202c74', 1767225780000000, NULL, NULL, NULL, 0);
INSERT INTO board_posts VALUES (1, 6, 5, 3, 'bob', 0, 'sent once', '<p>sent once</p>
', 2, '9902f6d8c659794c21650fa7024a666f5f575ec8bb46ea00ceb598bbfd9d0090', 1795377561614337, NULL, NULL, NULL, 0);
INSERT INTO board_posts VALUES (1, 7, 6, 3, 'bob', 0, 'to be told of', '<p>to be told of</p>
', 2, 'a7c1aa063e696d5b178b425094780ef3e2b73c6138b4ec8ea6d8bf1ac659f5ad', 1795377561761319, NULL, NULL, NULL, 0);
INSERT INTO board_posts VALUES (2, 5, 1, 2, 'ada', 0, 'among us', '<p>among us</p>
', 2, '4e4ade7c71349aed9519b63feb7cd46def43bb733364b9ae607e537b888155c6', 1767225840000000, NULL, NULL, NULL, 0);
CREATE TABLE board_post_ids (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_id   BIGINT NOT NULL REFERENCES board_threads (id),
	forum_id    BIGINT NOT NULL REFERENCES board_forums (id),
	author_id   BIGINT REFERENCES board_users (id),
	visibility  SMALLINT NOT NULL,
	held_reason TEXT,
	created_at  BIGINT NOT NULL
);
INSERT INTO board_post_ids VALUES (1, 1, 2, 2, 0, NULL, 1767225600000000);
INSERT INTO board_post_ids VALUES (2, 1, 2, 3, 0, NULL, 1767225660000000);
INSERT INTO board_post_ids VALUES (3, 1, 2, 3, 1, 'seeded', 1767225720000000);
INSERT INTO board_post_ids VALUES (4, 1, 2, 3, 2, NULL, 1767225780000000);
INSERT INTO board_post_ids VALUES (5, 2, 3, 2, 0, NULL, 1767225840000000);
INSERT INTO board_post_ids VALUES (6, 1, 2, 3, 0, NULL, 1795377561614337);
INSERT INTO board_post_ids VALUES (7, 1, 2, 3, 0, NULL, 1795377561761319);
CREATE TABLE board_posts_archive (
	thread_id      BIGINT NOT NULL REFERENCES board_threads (id),
	id             INTEGER NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
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
CREATE TABLE board_post_revisions (
	post_id   BIGINT NOT NULL REFERENCES board_post_ids (id),
	revision  BIGINT NOT NULL,
	message   TEXT NOT NULL, -- the text before the edit
	edited_by TEXT NOT NULL,
	edited_at BIGINT NOT NULL,
	reason    TEXT,
	PRIMARY KEY (post_id, revision)
);
INSERT INTO board_post_revisions VALUES (2, 1, 'an answer', 'root', 1795377561616828, 'a mistake');
CREATE TABLE board_tags (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name     TEXT NOT NULL,
	name_key TEXT  NOT NULL UNIQUE
);
CREATE TABLE board_thread_tags (
	tag_id       BIGINT NOT NULL REFERENCES board_tags (id),
	thread_id    BIGINT NOT NULL REFERENCES board_threads (id),
	last_post_at BIGINT NOT NULL,
	PRIMARY KEY (tag_id, thread_id)
);
CREATE TABLE board_reactions (
	post_id    BIGINT NOT NULL,
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	kind       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (post_id, user_id)
);
CREATE TABLE board_reaction_counts (
	post_id BIGINT NOT NULL,
	kind    TEXT NOT NULL,
	n       BIGINT NOT NULL,
	PRIMARY KEY (post_id, kind)
);
CREATE TABLE board_attachments (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_attachments VALUES (1, 1, 6, 3, 'words.txt', 'text/plain; charset=utf-8', 20, 'e013fa618eeb559fb3df3fa6f70a59e124008694a2bbe5f396299c68543acea8', NULL, NULL, 1795377561618399, NULL, 1);
CREATE TABLE board_contents (
	sha256    TEXT NOT NULL,
	part      BIGINT NOT NULL,
	data      BLOB NOT NULL,
	stored_at BIGINT NOT NULL,
	PRIMARY KEY (sha256, part)
);
INSERT INTO board_contents VALUES ('e013fa618eeb559fb3df3fa6f70a59e124008694a2bbe5f396299c68543acea8', 0, X'612066696C65206F6620736F6D6520776F726473', 1795377561618895);
CREATE TABLE board_merged_threads (
	thread_id    BIGINT NOT NULL PRIMARY KEY REFERENCES board_threads (id),
	into_id      BIGINT NOT NULL REFERENCES board_threads (id),
	first_post   BIGINT NOT NULL,
	first_number BIGINT NOT NULL,
	merged_at    BIGINT -- NULL: in progress
);
CREATE TABLE board_moved_posts (
	thread_id BIGINT NOT NULL REFERENCES board_threads (id),
	number    BIGINT NOT NULL,
	post_id   BIGINT NOT NULL,
	PRIMARY KEY (thread_id, number)
);
CREATE VIRTUAL TABLE board_search USING fts5 (title, message,
	content = '', contentless_delete = 1, tokenize = 'unicode61');
CREATE TABLE board_thread_reads (
	user_id           BIGINT NOT NULL REFERENCES board_users (id),
	thread_id         BIGINT NOT NULL REFERENCES board_threads (id),
	last_read_post_id BIGINT NOT NULL,
	read_at           BIGINT NOT NULL,
	PRIMARY KEY (user_id, thread_id)
);
INSERT INTO board_thread_reads VALUES (3, 1, 7, 4130596761761772);
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
INSERT INTO board_subscriptions VALUES (2, 'thread', 1, 'instant', 1795377561612705, 0);
CREATE TABLE board_notifications (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	kind       TEXT NOT NULL,
	thread_id  BIGINT NOT NULL,
	post_id    BIGINT NOT NULL,
	actor_name TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	read_at    BIGINT
);
INSERT INTO board_notifications VALUES (1, 2, 'reply', 1, 6, 'bob', 4130596761614818, NULL);
INSERT INTO board_notifications VALUES (2, 2, 'reply', 1, 7, 'bob', 4130596761761482, NULL);
CREATE TABLE board_bookmarks (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	post_id    BIGINT NOT NULL,
	note       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (user_id, post_id)
);
CREATE TABLE board_drafts (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
CREATE TABLE board_idempotency (
	user_id      BIGINT NOT NULL REFERENCES board_users (id),
	key          TEXT NOT NULL,
	request_hash TEXT NOT NULL,
	body         TEXT NOT NULL,
	created_at   BIGINT NOT NULL,
	PRIMARY KEY (user_id, key)
);
INSERT INTO board_idempotency VALUES (3, 'once', 'c3476ac52c7f8ab5a62333b0be8573e16d00c89e47c2446b2f81fb37fd08de06', '{"thread":1,"post":6,"visibility":0}', 4130596761614159);
CREATE TABLE board_conversations (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	title      TEXT NOT NULL,
	starter_id BIGINT REFERENCES board_users (id), -- NULL: deleted
	created_at BIGINT NOT NULL
);
CREATE TABLE board_conversation_messages (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	conversation_id BIGINT NOT NULL REFERENCES board_conversations (id),
	author_id       BIGINT REFERENCES board_users (id), -- NULL: deleted
	message         TEXT NOT NULL,
	created_at      BIGINT NOT NULL
);
CREATE TABLE board_conversation_members (
	conversation_id BIGINT NOT NULL REFERENCES board_conversations (id),
	user_id         BIGINT NOT NULL REFERENCES board_users (id),
	last_id         BIGINT NOT NULL,
	read_id         BIGINT NOT NULL,
	-- The last message about which the member got a mail. No other is sent before the member has read it.
	mailed_id       BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (conversation_id, user_id)
);
CREATE TABLE board_blocks (
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	blocked_id BIGINT NOT NULL REFERENCES board_users (id),
	created_at BIGINT NOT NULL,
	PRIMARY KEY (user_id, blocked_id)
);
CREATE TABLE board_reports (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	post_id    BIGINT NOT NULL REFERENCES board_post_ids (id),
	forum_id   BIGINT NOT NULL REFERENCES board_forums (id),
	user_id    BIGINT NOT NULL REFERENCES board_users (id),
	reason     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	closed_at  BIGINT,
	closed_by  BIGINT,
	note       TEXT
);
INSERT INTO board_reports VALUES (1, 2, 2, 2, 'not kind', 1795377561620096, NULL, NULL, NULL);
CREATE TABLE board_message_reports (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	message_id BIGINT NOT NULL,
	user_id    BIGINT REFERENCES board_users (id), -- NULL: deleted
	reason     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	closed_at  BIGINT,
	closed_by  BIGINT,
	note       TEXT,
	UNIQUE (message_id, user_id)
);
CREATE TABLE board_reported_messages (
	report_id  BIGINT NOT NULL REFERENCES board_message_reports (id),
	message_id BIGINT NOT NULL,
	author_id  BIGINT REFERENCES board_users (id), -- NULL: deleted
	message    TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (report_id, message_id)
);
CREATE TABLE board_warnings (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
CREATE TABLE board_member_notes (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id     BIGINT NOT NULL REFERENCES board_users (id),
	author_id   BIGINT NOT NULL,
	author_name TEXT NOT NULL,
	message     TEXT NOT NULL,
	created_at  BIGINT NOT NULL
);
CREATE TABLE board_moderation_log (
	id        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	actor_id  BIGINT,
	action    TEXT NOT NULL,
	forum_id  BIGINT,
	thread_id BIGINT,
	post_id   BIGINT,
	detail    TEXT NOT NULL DEFAULT '',
	at        BIGINT NOT NULL
);
INSERT INTO board_moderation_log VALUES (1, 1, 'post.edit', 2, 1, 2, 'a mistake', 1795377561617003);
INSERT INTO board_moderation_log VALUES (2, 1, 'webhook.add', NULL, NULL, NULL, '127.0.0.1:9: post.created', 1795377561661396);
CREATE TABLE board_word_filters (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	pattern     TEXT NOT NULL,
	replacement TEXT NOT NULL,
	action      TEXT NOT NULL DEFAULT 'replace' -- or hold
);
CREATE TABLE board_webhooks (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url             TEXT NOT NULL,
	topics          TEXT NOT NULL, -- words, each between spaces, such as ' post.created post.held '
	secret          TEXT NOT NULL, -- sealed
	enabled         BIGINT NOT NULL DEFAULT 1,
	disabled_reason TEXT NOT NULL DEFAULT '',
	created_by      TEXT NOT NULL,
	created_at      BIGINT NOT NULL
);
INSERT INTO board_webhooks VALUES (1, 'http://127.0.0.1:9/hook', ' post.created ', 'aes1.4oVf24Kqqwev2rSuCWURvpVrYo_ISpNz9qmAWpfvSeX7vgMLeaD5FUGkHVRtwrWb422mtLRVjOQsk_HmDqy0wOCWVaWVhs6Re6Vp88_Aie4cjOWMqw', 1, '', 'root', 1795377561661314);
CREATE TABLE board_webhook_deliveries (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_webhook_deliveries VALUES (1, 1, 'evt_LIUADEXTKM7VMYIXE2L6E5DBAC', 'post.created', '{"event":"evt_LIUADEXTKM7VMYIXE2L6E5DBAC","topic":"post.created","createdAt":"2026-11-22T19:59:21.761Z","data":{"forumId":2,"threadId":1,"threadTitle":"A thread","postId":7,"number":6,"authorUserId":3,"authorUsername":"bob","visibility":"visible","previousVisibility":null,"reason":null}}', 'pending', 1, 4130596792492912, 0, 'the connection failed: dial tcp 127.0.0.1:9: connect: connection refused', 4130596761761578, 1795377562491624);
CREATE TABLE board_mails (
	id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO board_mails VALUES (1, 2, 'instant', 'thread', 1, 6, 7, 4130596776614926, 0, 0, 1795377561614926);
INSERT INTO board_mails VALUES (3, 3, 'reset', 'link', 1, 0, 0, 4130596761763017, 0, 0, 1795377561763017);
CREATE TABLE board_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);
INSERT INTO board_settings VALUES ('cursor_secret', 'feee5dbc7f456e72f02598285ec85c0456a8d7392e90a904e351aac8d13155f8');
INSERT INTO board_settings VALUES ('names_filled', 'all');
CREATE TABLE board_seeds (
	fixture TEXT NOT NULL, -- the digest of its beginning
	part    TEXT NOT NULL,
	done    BIGINT NOT NULL, -- the number of elements
	PRIMARY KEY (fixture, part)
);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'forums', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'overrides', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'prefixes', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'threads', 2);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'tokens', 3);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'users', 3);
CREATE TABLE board_moved (
	program TEXT NOT NULL, -- such as phpbb
	kind    TEXT NOT NULL, -- member, forum, thread, post or file
	old_id  BIGINT NOT NULL,
	new_id  BIGINT NOT NULL,
	PRIMARY KEY (program, kind, old_id)
) WITHOUT ROWID;
CREATE TABLE run_nodes (
	id               INTEGER PRIMARY KEY AUTOINCREMENT, -- the node in other tables
	certname         TEXT NOT NULL UNIQUE,
	latest_report    BIGINT, -- run_reports.id of the newest run that was no plan; NULL: none is stored
	latest_timestamp BIGINT, -- its producer_timestamp, which stays when the report is purged; NULL: none
	deactivated_at   BIGINT, -- the producer_timestamp of the command; NULL: active
	expired_at       BIGINT -- when the node was found silent for too long; NULL: not expired
);
INSERT INTO run_nodes VALUES (1, 'a.example.com', 2, 1772445670000, NULL, NULL);
INSERT INTO run_nodes VALUES (3, 'b.example.com', 3, 1772445730000, 1772496000000, NULL);
CREATE TABLE run_environments (
	id   INTEGER PRIMARY KEY, -- run_reports.environment
	name TEXT NOT NULL UNIQUE
);
INSERT INTO run_environments VALUES (1, 'production');
CREATE TABLE run_producers (
	id   INTEGER PRIMARY KEY, -- run_reports.producer
	name TEXT NOT NULL UNIQUE
);
CREATE TABLE run_words (
	id   INTEGER PRIMARY KEY, -- columns whose comment begins with "word"
	name TEXT NOT NULL UNIQUE
);
INSERT INTO run_words VALUES (1, 'success');
INSERT INTO run_words VALUES (2, 'failure');
INSERT INTO run_words VALUES (3, 'noop');
INSERT INTO run_words VALUES (4, 'skipped');
INSERT INTO run_words VALUES (5, 'agent');
INSERT INTO run_words VALUES (6, 'plan');
INSERT INTO run_words VALUES (7, 'changed');
INSERT INTO run_words VALUES (8, 'unchanged');
INSERT INTO run_words VALUES (9, 'failed');
INSERT INTO run_words VALUES (10, '7.23.0');
CREATE TABLE run_reports (
	id                    INTEGER PRIMARY KEY AUTOINCREMENT, -- ascending by arrival
	hash                  BLOB NOT NULL UNIQUE, -- the id of the report, the 20 bytes of a SHA-1
	node                  BIGINT NOT NULL, -- run_nodes.id
	environment           BIGINT NOT NULL, -- run_environments.id
	status                BIGINT, -- word; NULL: sent as null
	type                  BIGINT NOT NULL, -- word: 5 agent, 6 plan
	noop                  SMALLINT, -- NULL: sent as null, also in the next two
	noop_pending          SMALLINT,
	corrective_change     SMALLINT, -- shown only if the service is configured to
	puppet_version        BIGINT NOT NULL, -- word
	report_format         BIGINT NOT NULL,
	configuration_version TEXT NOT NULL,
	start_time            BIGINT NOT NULL,
	end_time              BIGINT NOT NULL,
	producer_timestamp    BIGINT NOT NULL,
	receive_time          BIGINT NOT NULL, -- the server's clock at submission
	producer              BIGINT, -- run_producers.id; NULL: none
	transaction_uuid      TEXT, -- NULL: none, also in the next four
	catalog_uuid          TEXT,
	code_id               BIGINT, -- word
	job_id                TEXT,
	cached_catalog_status BIGINT -- word
);
INSERT INTO run_reports VALUES (1, X'3C4B257E69ED2D3393DBF586F1A96B55374999EE', 1, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445600000, 1772445609000, 1772445610000, 1795377561842, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_reports VALUES (2, X'FB48183F0037EC34BF525BA4D4B550CC3540D459', 1, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445660000, 1772445669000, 1772445670000, 1795377561845, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_reports VALUES (3, X'2C9ED378490875DB91F1B46749C9296E7C0B7732', 3, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445720000, 1772445729000, 1772445730000, 1795377561846, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE run_report_details (
	at      BIGINT NOT NULL, -- the producer_timestamp of the report
	report  BIGINT NOT NULL, -- run_reports.id
	logs    BLOB NOT NULL,
	metrics BLOB NOT NULL,
	PRIMARY KEY (at, report)
) WITHOUT ROWID;
INSERT INTO run_report_details VALUES (1772445610000, 1, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
INSERT INTO run_report_details VALUES (1772445670000, 2, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
INSERT INTO run_report_details VALUES (1772445730000, 3, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
CREATE TABLE run_inbox (
	id       INTEGER PRIMARY KEY, -- ascending by arrival
	version  BIGINT NOT NULL, -- the version of the command
	received BIGINT NOT NULL, -- the server's clock at submission
	since    BIGINT NOT NULL, -- events before this time are not stored
	payload  BLOB NOT NULL -- compressed
);
CREATE TABLE run_rejected (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	at       BIGINT NOT NULL, -- of the last attempt
	command  TEXT NOT NULL,
	version  BIGINT NOT NULL,
	certname TEXT NOT NULL, -- the query parameter
	reason   TEXT NOT NULL,
	attempts BIGINT NOT NULL,
	payload  BLOB NOT NULL -- compressed with DEFLATE
);
INSERT INTO run_rejected VALUES (1, 1795377561848, 'store report', 8, 'x', 'report: certname: a string is expected at byte 12', 1, X'000E00F1FF7B22636572746E616D65223A377D0300');
CREATE TABLE run_resources (
	id               INTEGER PRIMARY KEY AUTOINCREMENT, -- run_events.resource
	hash             BLOB NOT NULL UNIQUE, -- 16 bytes of the SHA-256 of the next six columns
	type             TEXT NOT NULL,
	title            TEXT NOT NULL,
	file             TEXT, -- NULL: unknown, also line
	line             BIGINT,
	containing_class TEXT, -- NULL: no class in the path
	containment_path TEXT, -- a compact JSON array; NULL: sent as null
	used_day         BIGINT NOT NULL -- Unix day of the newest event that refers to it; old rows are deleted
);
INSERT INTO run_resources VALUES (1, X'CAE9B283A55923373161E0B28C97FB88', 'File', '/srv/a.example.com', NULL, NULL, 'A', '["Stage[main]","A"]', 20514);
INSERT INTO run_resources VALUES (2, X'4150A8A0E11AB7DB8C4660A5C140B7CF', 'File', '/srv/b.example.com', NULL, NULL, 'A', '["Stage[main]","A"]', 20514);
CREATE TABLE run_changes (
	id        INTEGER PRIMARY KEY AUTOINCREMENT, -- run_events.change
	hash      BLOB NOT NULL UNIQUE, -- 16 bytes of the SHA-256 of the next five columns
	property  TEXT, -- NULL: the resource was refreshed, failed as a whole or was skipped
	name      TEXT, -- NULL: skipped, or sent as null
	old_value TEXT, -- NULL: skipped
	new_value TEXT, -- NULL: skipped
	message   TEXT, -- NULL: skipped, or sent as null
	used_day  BIGINT NOT NULL -- as in run_resources
);
INSERT INTO run_changes VALUES (1, X'6672E295F4973E33D7C381BFD69F49B9', 'ensure', NULL, '"absent"', '"file"', 'created a.example.com', 20514);
INSERT INTO run_changes VALUES (2, X'4035520EF907FE166F2545FB54B08D70', 'ensure', NULL, '"absent"', '"file"', 'created b.example.com', 20514);
CREATE TABLE run_events (
	at                BIGINT NOT NULL, -- the timestamp of the event
	report            BIGINT NOT NULL, -- run_reports.id; deleted before the report
	seq               BIGINT NOT NULL, -- the place in the report
	node              BIGINT NOT NULL, -- run_nodes.id of the report
	resource          BIGINT NOT NULL, -- run_resources.id
	change            BIGINT NOT NULL, -- run_changes.id
	status            BIGINT NOT NULL, -- word: 1 success, 2 failure, 3 noop, 4 skipped, or another
	corrective_change SMALLINT, -- shown only if the service is configured to
	PRIMARY KEY (at, report, seq)
) WITHOUT ROWID;
INSERT INTO run_events VALUES (1772445601000, 1, 0, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445602000, 1, 1, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445603000, 1, 2, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445661000, 2, 0, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445662000, 2, 1, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445663000, 2, 2, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445721000, 3, 0, 3, 2, 2, 1, NULL);
INSERT INTO run_events VALUES (1772445722000, 3, 1, 3, 2, 2, 1, NULL);
INSERT INTO run_events VALUES (1772445723000, 3, 2, 3, 2, 2, 1, NULL);
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- the process that counts
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
) WITHOUT ROWID;
INSERT INTO run_event_counts VALUES (492346, 1, 0, 9);
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
) WITHOUT ROWID;
INSERT INTO run_node_counts VALUES (492346, 1, 1, 6);
INSERT INTO run_node_counts VALUES (492346, 3, 1, 3);
CREATE TABLE gateway_users (
	id            TEXT NOT NULL PRIMARY KEY,
	email         TEXT, -- confirmed by the identity provider; NULL: not known
	name          TEXT, -- NULL: not known
	team_id       TEXT, -- the team for which requests count by default; NULL: none
	is_service    INTEGER NOT NULL DEFAULT 0, -- 1: owns the keys of the team that has its id
	waiting_since BIGINT, -- waits for an operator's approval; NULL: approved
	suspended_at  BIGINT, -- NULL: active
	created_at    BIGINT NOT NULL
);
INSERT INTO gateway_users VALUES ('ada', NULL, NULL, NULL, 0, NULL, NULL, 1795377561836112);
CREATE TABLE gateway_teams (
	id         TEXT NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	created_at BIGINT NOT NULL
);
CREATE TABLE gateway_team_members (
	team_id  TEXT NOT NULL REFERENCES gateway_teams (id),
	user_id  TEXT NOT NULL REFERENCES gateway_users (id),
	added_at BIGINT NOT NULL,
	-- member, or admin, who may add and remove members.
	role     TEXT NOT NULL DEFAULT 'member',
	-- 1: a rule added the member, and removes it again.
	by_rule  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (team_id, user_id)
) WITHOUT ROWID;
CREATE TABLE gateway_invitations (
	id          TEXT NOT NULL PRIMARY KEY,
	hash        TEXT NOT NULL UNIQUE, -- the SHA-256 of the token in the link
	email       TEXT NOT NULL,
	team_id     TEXT, -- NULL: the rules decide
	role        TEXT NOT NULL, -- in the team
	created_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	accepted_at BIGINT, -- NULL: not yet
	accepted_by TEXT
);
CREATE TABLE gateway_audit (
	id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at      BIGINT NOT NULL,
	actor   TEXT NOT NULL, -- the id of a user, or "command"
	action  TEXT NOT NULL, -- such as user.suspended
	subject TEXT NOT NULL, -- the id of what was changed
	-- The team that the change concerns; NULL: none.
	team_id TEXT,
	details TEXT NOT NULL -- an object
);
CREATE TABLE gateway_keys (
	id                    TEXT NOT NULL PRIMARY KEY,
	user_id               TEXT NOT NULL REFERENCES gateway_users (id),
	team_id               TEXT, -- NULL: the user's default
	hash                  TEXT NOT NULL UNIQUE, -- the SHA-256 of the key in hex
	masked                TEXT NOT NULL,
	label                 TEXT NOT NULL,
	is_primary            SMALLINT NOT NULL,
	effort_mode           TEXT NOT NULL,
	-- Limits that the user has set; NULL: no limit.
	expires_at            BIGINT,
	allowed_models        TEXT, -- a list
	allowed_tools         TEXT, -- a list of tools that providers may run
	rate_limit_per_minute BIGINT,
	parallel_requests     BIGINT,
	tokens_per_minute     BIGINT,
	tokens_per_day        BIGINT,
	tokens_per_week       BIGINT,
	tokens_per_month      BIGINT,
	tokens_total          BIGINT,
	micro_usd_per_day     BIGINT,
	micro_usd_per_week    BIGINT,
	micro_usd_per_month   BIGINT,
	micro_usd_total       BIGINT,
	-- The key in gateway_limits whose limits this key shares; NULL: none.
	limited_by            TEXT,
	created_at            BIGINT NOT NULL,
	revoked_at            BIGINT,
	last_used_at          BIGINT
);
INSERT INTO gateway_keys VALUES ('gk_TU2OsRtMw4lvoZw8YYg6', 'ada', NULL, 'fe8516839444c64642aa85c3c63ddc38d4c61f318e41cfae88cd4178ed729c60', 'ak-v3c…7tI9', 'ci', 0, 'override', NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, 1500000, NULL, NULL, NULL, NULL, 1795377561837564, NULL, NULL);
INSERT INTO gateway_keys VALUES ('gk_iFBddRInm6x7H0Z6OHAR', 'ada', NULL, '40bc5a790ea6916de2af6852bdcfc4c52caa9362bd55be4baebe9360cb0daf98', 'ak-hNL…m2cT', 'primary', 1, 'override', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795377561836112, NULL, 1795377540000000);
CREATE TABLE gateway_limits (
	kind                  TEXT NOT NULL, -- key, user, team, organisation or provider_key
	holder                TEXT NOT NULL, -- the id of the key, user or team
	expires_at            BIGINT,
	allowed_models        TEXT, -- a list
	allowed_tools         TEXT, -- a list of tools that providers may run
	rate_limit_per_minute BIGINT,
	parallel_requests     BIGINT,
	tokens_per_minute     BIGINT,
	tokens_per_day        BIGINT,
	tokens_per_week       BIGINT,
	tokens_per_month      BIGINT,
	tokens_total          BIGINT,
	micro_usd_per_day     BIGINT,
	micro_usd_per_week    BIGINT,
	micro_usd_per_month   BIGINT,
	micro_usd_total       BIGINT,
	-- Limits that replace these until a time.
	raised                TEXT, -- an object of limits; NULL: none
	raised_until          BIGINT,
	PRIMARY KEY (kind, holder)
);
CREATE TABLE gateway_provider_keys (
	id         TEXT NOT NULL PRIMARY KEY,
	owner_kind TEXT NOT NULL, -- user, team or organisation
	owner      TEXT NOT NULL, -- the id of the user or team, or "organisation"
	provider   TEXT NOT NULL,
	label      TEXT NOT NULL,
	sealed     TEXT NOT NULL,
	masked     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
INSERT INTO gateway_provider_keys VALUES ('pk_srZOXC9nBVpk5pvcuKAU', 'user', 'ada', 'openai', '', 'aes1.4oVf2_KiyEt_7z3F_08ioTZIhs4nAKZMHPpsYLsIt7AxZzHkDPEjfTzQaJxXtCNQZIs-rwPhyjAMYw', 'sk…st', 1795377561838393);
CREATE TABLE gateway_models (
	id          TEXT NOT NULL PRIMARY KEY,
	user_id     TEXT NOT NULL REFERENCES gateway_users (id),
	model_entry TEXT NOT NULL, -- provider/model, as clients name it
	is_custom   SMALLINT NOT NULL, -- 1: the user's own
	enabled     SMALLINT NOT NULL,
	priority    BIGINT, -- lower is tried earlier; NULL: as in the catalog
	tier        TEXT, -- low, medium or high; this and the next three are NULL for models of the catalog
	base_url    TEXT,
	model       TEXT, -- the name at the provider
	sealed      TEXT, -- its key; NULL: it needs none
	created_at  BIGINT NOT NULL,
	found       SMALLINT NOT NULL DEFAULT 0, -- 1: found on a server, not added by the user
	wire        TEXT, -- chat, responses or messages; NULL: chat
	UNIQUE (user_id, model_entry)
);
INSERT INTO gateway_models VALUES ('me_Ac9YYxTGDDv4tHDDmY7X', 'ada', 'own/large', 1, 1, 0, 'low', 'http://127.0.0.1:9/v1', 'large', 'aes1.4oVf27d9ZS9q_dHE2kUMaHxGLjAcb5AS1CiAXvOSYQOMzWzX_sl8UOXQPZqzfMX-DssfcCzz-w', 1795377561839185, 0, NULL);
CREATE TABLE gateway_aliases (
	owner_kind TEXT NOT NULL, -- user, team or organisation
	owner      TEXT NOT NULL, -- the id of the user or team, or "organisation"
	name       TEXT NOT NULL, -- as clients send it
	target     TEXT NOT NULL, -- provider/model, the id of a model, or keychain-low, -medium or -high
	created_at BIGINT NOT NULL,
	PRIMARY KEY (owner_kind, owner, name)
) WITHOUT ROWID;
CREATE TABLE gateway_preferences (
	user_id             TEXT NOT NULL PRIMARY KEY REFERENCES gateway_users (id),
	preferred_providers TEXT NOT NULL, -- lists, also the next two
	excluded_providers  TEXT NOT NULL,
	excluded_models     TEXT NOT NULL
);
INSERT INTO gateway_preferences VALUES ('ada', '["openai"]', '[]', '[]');
CREATE TABLE gateway_prices (
	name  TEXT NOT NULL PRIMARY KEY, -- provider/model, or the beginning of such names and a star
	price TEXT NOT NULL -- an object as in a file of prices
) WITHOUT ROWID;
CREATE TABLE gateway_usage_records (
	-- SQLite's ON CONFLICT FAIL keeps a statement of many rows from journaling each page that it touches. The
	-- transaction is rolled back anyway if the statement fails.
	id      INTEGER PRIMARY KEY,
	at      BIGINT NOT NULL ON CONFLICT FAIL, -- the start of the request
	user_id TEXT NOT NULL ON CONFLICT FAIL,
	record  TEXT NOT NULL ON CONFLICT FAIL
);
INSERT INTO gateway_usage_records VALUES (1, 4130596761841325, 'ada', '["req_IIGC7I5s1HYqxthe0rYtKs8y","gk_iFBddRInm6x7H0Z6OHAR","chat_completions","keychain-high","high","openai","gpt-6.1-sol",0,200,"",1,"",1,0,64,0,"exact",642,1055,706,"pk_srZOXC9nBVpk5pvcuKAU"]');
INSERT INTO gateway_usage_records VALUES (2, 4130596761842538, 'ada', '["req_xIQeNnxgR1d5IJuCuYqrQDNx","gk_iFBddRInm6x7H0Z6OHAR","chat_completions","keychain-high","high","openai","gpt-6.1-sol",0,200,"",1,"",1,0,64,0,"exact",642,179,141,"pk_srZOXC9nBVpk5pvcuKAU"]');
CREATE TABLE gateway_usage_writers (
	writer  TEXT NOT NULL PRIMARY KEY,
	records BIGINT NOT NULL, -- that it has written
	at      BIGINT NOT NULL
);
CREATE TABLE gateway_usage_hours (
	user_id  TEXT NOT NULL,
	hour     BIGINT NOT NULL,
	key_id   TEXT NOT NULL,
	provider TEXT NOT NULL, -- empty: none answered
	model    TEXT NOT NULL,
	tier     TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, hour, key_id, provider, model, tier)
) WITHOUT ROWID;
INSERT INTO gateway_usage_hours VALUES ('ada', 1147387, 'gk_iFBddRInm6x7H0Z6OHAR', 'openai', 'gpt-6.1-sol', 'high', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_usage_days (
	user_id  TEXT NOT NULL,
	day      BIGINT NOT NULL,
	key_id   TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	tier     TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, day, key_id, provider, model, tier)
) WITHOUT ROWID;
INSERT INTO gateway_usage_days VALUES ('ada', 47807, 'gk_iFBddRInm6x7H0Z6OHAR', 'openai', 'gpt-6.1-sol', 'high', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_team_hours (
	hour     BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (hour, team_id, provider, model)
) WITHOUT ROWID;
CREATE TABLE gateway_team_days (
	day      BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (day, team_id, provider, model)
) WITHOUT ROWID;
INSERT INTO gateway_team_days VALUES (47807, '', 'openai', 'gpt-6.1-sol', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_member_days (
	team_id TEXT NOT NULL,
	day     BIGINT NOT NULL,
	user_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (team_id, day, user_id)
) WITHOUT ROWID;
CREATE TABLE gateway_model_hours (
	hour     BIGINT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (hour, provider, model)
) WITHOUT ROWID;
CREATE TABLE gateway_model_days (
	day      BIGINT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, provider, model)
) WITHOUT ROWID;
INSERT INTO gateway_model_days VALUES (47807, 'openai', 'gpt-6.1-sol', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_label_days (
	day      BIGINT NOT NULL,
	kind     TEXT NOT NULL, -- tag or end_user
	name     TEXT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, kind, name, team_id, provider, model)
) WITHOUT ROWID;
CREATE TABLE gateway_user_totals (
	day     BIGINT NOT NULL, -- the totals are those of the days before it
	user_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, user_id)
) WITHOUT ROWID;
INSERT INTO gateway_user_totals VALUES (2147483647, 'ada', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_key_totals (
	day    BIGINT NOT NULL,
	key_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, key_id)
) WITHOUT ROWID;
INSERT INTO gateway_key_totals VALUES (2147483647, 'gk_iFBddRInm6x7H0Z6OHAR', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_team_totals (
	day      BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, team_id, provider, model)
) WITHOUT ROWID;
INSERT INTO gateway_team_totals VALUES (2147483647, '', 'openai', 'gpt-6.1-sol', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2, 0);
CREATE TABLE gateway_provider_key_days (
	provider_key   TEXT NOT NULL,
	day            BIGINT NOT NULL,
	input_tokens   BIGINT NOT NULL,
	output_tokens  BIGINT NOT NULL,
	cost_micro_usd BIGINT NOT NULL,
	PRIMARY KEY (provider_key, day)
) WITHOUT ROWID;
CREATE TABLE gateway_timings (
	unit     BIGINT NOT NULL, -- the seconds of a slot: 60, 3600 or 86400
	kind     TEXT NOT NULL, -- all, model or team
	slot     BIGINT NOT NULL, -- the Unix time divided by the unit
	team_id  TEXT NOT NULL, -- for the kind team; empty: no team
	provider TEXT NOT NULL, -- this and the next for the kind model
	model    TEXT NOT NULL,
	bucket   BIGINT NOT NULL, -- up to 2^(bucket/3) milliseconds; -1: failed
	requests BIGINT NOT NULL,
	PRIMARY KEY (unit, kind, slot, team_id, provider, model, bucket)
) WITHOUT ROWID;
CREATE TABLE gateway_alerts (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	event      TEXT NOT NULL, -- the id that receivers see
	kind       TEXT NOT NULL, -- budget.threshold, provider_key.failing or test
	subject    TEXT NOT NULL, -- organisation, team, user, key or provider
	holder     TEXT NOT NULL, -- the id of the subject
	name       TEXT NOT NULL, -- that of the holder at that time; empty: none
	budget     TEXT NOT NULL, -- such as usd_per_month; for a key its state
	begins     BIGINT NOT NULL, -- when the period of the budget begins; 0: it is a total
	ends       BIGINT NOT NULL, -- when the period ends; 0: never
	threshold  BIGINT NOT NULL, -- in percent
	amount     BIGINT NOT NULL, -- tokens, or millionths of a US dollar
	spent      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (kind, subject, holder, budget, begins, amount, threshold)
);
CREATE TABLE gateway_alert_messages (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	alert_id     BIGINT NOT NULL REFERENCES gateway_alerts (id),
	channel      TEXT NOT NULL, -- mail or webhook
	target       TEXT NOT NULL, -- the address, or the name of the webhook
	state        TEXT NOT NULL, -- pending, sent or failed
	attempts     BIGINT NOT NULL,
	next_at      BIGINT, -- NULL: no more attempts
	leased_until BIGINT NOT NULL, -- a node is sending it
	answer       TEXT NOT NULL, -- the result of the last attempt
	tried_at     BIGINT,
	UNIQUE (alert_id, channel, target)
);
CREATE TABLE gateway_alert_episodes (
	kind    TEXT NOT NULL, -- the kind of the first alert
	subject TEXT NOT NULL,
	holder  TEXT NOT NULL,
	began   BIGINT NOT NULL,
	seen_at BIGINT NOT NULL, -- when it was last found over the threshold
	PRIMARY KEY (kind, subject, holder)
) WITHOUT ROWID;
CREATE TABLE gateway_objects (
	user_id      TEXT NOT NULL,
	team_id      TEXT NOT NULL, -- empty: none
	kind         TEXT NOT NULL, -- file or batch
	id           TEXT NOT NULL, -- the id at the provider
	key_id       TEXT NOT NULL, -- the gateway key that made it
	provider     TEXT NOT NULL,
	provider_key TEXT NOT NULL, -- the id of the only key that can access the object
	created_at   BIGINT NOT NULL,
	charged      INTEGER NOT NULL, -- 0: a batch whose cost is not known yet
	polled_at    BIGINT NOT NULL, -- when the cost was last asked for
	-- The batch whose results are in the file, which is not deleted before the batch is charged because the cost may
	-- have to be read from it.
	batch        TEXT NOT NULL DEFAULT '', -- empty: none
	PRIMARY KEY (user_id, team_id, kind, id)
) WITHOUT ROWID;
CREATE TABLE gateway_answer_items (
	id         TEXT NOT NULL PRIMARY KEY, -- owner, a slash and the id that the client sees
	owner      TEXT NOT NULL, -- the gateway key
	sealed     TEXT NOT NULL,
	size       BIGINT NOT NULL, -- in bytes
	expires_at BIGINT NOT NULL
);
CREATE TABLE gateway_responses (
	id           TEXT NOT NULL PRIMARY KEY,
	owner        TEXT NOT NULL, -- a team or user
	previous     TEXT, -- the response that it continues
	depth        BIGINT NOT NULL, -- 1, or one more than the depth of previous
	status       TEXT NOT NULL,
	background   BIGINT NOT NULL,
	events       BIGINT NOT NULL, -- 1: the events are stored, too
	runner       TEXT NOT NULL, -- the process that makes it in the background; empty: none
	leased_until BIGINT NOT NULL, -- renewed by the runner; afterwards it counts as gone
	sealed       TEXT NOT NULL,
	size         BIGINT NOT NULL, -- that of sealed, in bytes
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE TABLE gateway_response_items (
	id       TEXT NOT NULL PRIMARY KEY, -- owner, a slash and the id that the client sees
	response TEXT NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE
);
CREATE TABLE gateway_response_events (
	id         TEXT NOT NULL PRIMARY KEY, -- response, a slash and the number of the first event
	response   TEXT NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE,
	last       BIGINT NOT NULL, -- the number of the last event in sealed
	sealed     TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	owner      TEXT NOT NULL DEFAULT '', -- empty: not counted for a quota
	size       BIGINT NOT NULL DEFAULT 0 -- that of sealed, in bytes
);
CREATE TABLE gateway_conversations (
	id         TEXT NOT NULL PRIMARY KEY,
	owner      TEXT NOT NULL, -- a team or user
	sealed     TEXT NOT NULL, -- the metadata
	places     BIGINT NOT NULL, -- the place of the last item
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE TABLE gateway_conversation_items (
	id           TEXT NOT NULL PRIMARY KEY, -- conversation, a slash and the id that the client sees
	conversation TEXT NOT NULL REFERENCES gateway_conversations (id) ON DELETE CASCADE,
	place        BIGINT NOT NULL,
	sealed       TEXT NOT NULL,
	size         BIGINT NOT NULL -- in bytes
);
CREATE TABLE gateway_sweeps (
	name   TEXT NOT NULL PRIMARY KEY,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
DELETE FROM board_search_data;
INSERT INTO board_search_data VALUES (1, X'070315');
INSERT INTO board_search_data VALUES (10, X'00000000FF00000101010100010101010101000007');
INSERT INTO board_search_data VALUES (137438953473, X'000000E40230610102020206010102010601010202046D6F6E67050601010202016E020601010203056F746865720502020304737765720206010103010262650706010103010764656C65746564040601010301066564697465640206010106010468656C64030601010301026F66070601010502036E636506060101030104706F737403060101040106010104010473656E74060601010202047461727401060101030104746861740206010104030165010601010203047265616401020302016F070601010203026C6407060101040102757305060101030103776173020601010504100B080A0B090E0D0B090A100B0B0B0809080909');
DELETE FROM board_search_idx;
INSERT INTO board_search_idx VALUES (1, X'', 2);
DELETE FROM board_search_docsize;
INSERT INTO board_search_docsize VALUES (1, X'0202', 1);
INSERT INTO board_search_docsize VALUES (2, X'0005', 1);
INSERT INTO board_search_docsize VALUES (3, X'0003', 1);
INSERT INTO board_search_docsize VALUES (4, X'0003', 1);
INSERT INTO board_search_docsize VALUES (5, X'0102', 1);
INSERT INTO board_search_docsize VALUES (6, X'0002', 1);
INSERT INTO board_search_docsize VALUES (7, X'0004', 1);
DELETE FROM board_search_config;
INSERT INTO board_search_config VALUES ('pgsz', 1000);
INSERT INTO board_search_config VALUES ('version', 4);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('schema_keyring', 2);
INSERT INTO sqlite_sequence VALUES ('schema_board', 2);
INSERT INTO sqlite_sequence VALUES ('schema_events', 2);
INSERT INTO sqlite_sequence VALUES ('schema_gateway', 2);
INSERT INTO sqlite_sequence VALUES ('board_api_tokens', 3);
INSERT INTO sqlite_sequence VALUES ('board_attachments', 1);
INSERT INTO sqlite_sequence VALUES ('board_forums', 3);
INSERT INTO sqlite_sequence VALUES ('board_groups', 4);
INSERT INTO sqlite_sequence VALUES ('board_links', 1);
INSERT INTO sqlite_sequence VALUES ('board_mails', 3);
INSERT INTO sqlite_sequence VALUES ('board_moderation_log', 2);
INSERT INTO sqlite_sequence VALUES ('board_notifications', 2);
INSERT INTO sqlite_sequence VALUES ('board_post_ids', 7);
INSERT INTO sqlite_sequence VALUES ('board_prefixes', 1);
INSERT INTO sqlite_sequence VALUES ('board_reports', 1);
INSERT INTO sqlite_sequence VALUES ('board_sessions', 2);
INSERT INTO sqlite_sequence VALUES ('board_threads', 2);
INSERT INTO sqlite_sequence VALUES ('board_users', 3);
INSERT INTO sqlite_sequence VALUES ('board_webhook_deliveries', 1);
INSERT INTO sqlite_sequence VALUES ('board_webhooks', 1);
INSERT INTO sqlite_sequence VALUES ('run_changes', 2);
INSERT INTO sqlite_sequence VALUES ('run_nodes', 4);
INSERT INTO sqlite_sequence VALUES ('run_rejected', 1);
INSERT INTO sqlite_sequence VALUES ('run_reports', 3);
INSERT INTO sqlite_sequence VALUES ('run_resources', 2);
INSERT INTO sqlite_sequence VALUES ('board_bookmarks', 0);
INSERT INTO sqlite_sequence VALUES ('board_conversation_messages', 0);
INSERT INTO sqlite_sequence VALUES ('board_conversations', 0);
INSERT INTO sqlite_sequence VALUES ('board_drafts', 0);
INSERT INTO sqlite_sequence VALUES ('board_forum_moderators', 0);
INSERT INTO sqlite_sequence VALUES ('board_member_notes', 0);
INSERT INTO sqlite_sequence VALUES ('board_message_reports', 0);
INSERT INTO sqlite_sequence VALUES ('board_tags', 0);
INSERT INTO sqlite_sequence VALUES ('board_warnings', 0);
INSERT INTO sqlite_sequence VALUES ('board_word_filters', 0);
INSERT INTO sqlite_sequence VALUES ('gateway_alert_messages', 0);
INSERT INTO sqlite_sequence VALUES ('gateway_alerts', 0);
INSERT INTO sqlite_sequence VALUES ('gateway_audit', 0);
CREATE INDEX board_users_state ON board_users (state, username_key);
CREATE INDEX board_users_unconfirmed ON board_users (joined_at) WHERE state = 'unconfirmed';
CREATE INDEX board_users_joined ON board_users (state, joined_at, id);
CREATE INDEX board_users_seen ON board_users (state, (COALESCE(last_active_at, 0)), id);
CREATE INDEX board_users_posts ON board_users (state, post_count, id);
CREATE UNIQUE INDEX board_names_skeleton ON board_names (skeleton) WHERE clashes = 0;
CREATE INDEX board_names_clashes ON board_names (skeleton, user_id) WHERE clashes = 1;
CREATE INDEX board_sessions_user ON board_sessions (user_id);
CREATE INDEX board_sessions_seen ON board_sessions (seen_at);
CREATE INDEX board_api_tokens_user ON board_api_tokens (user_id);
CREATE INDEX board_attempts_ends ON board_attempts (ends_at);
CREATE INDEX board_links_user ON board_links (user_id);
CREATE INDEX board_links_expires ON board_links (expires_at);
CREATE INDEX board_avatars_content ON board_avatars (sha256);
CREATE INDEX board_user_groups_group ON board_user_groups (group_id, user_id);
CREATE INDEX board_forum_floods_full ON board_forum_floods (full_at);
CREATE INDEX board_threads_forum_visible ON board_threads (forum_id, last_post_at) WHERE visibility = 0;
CREATE INDEX board_threads_forum_all ON board_threads (forum_id, last_post_at);
CREATE INDEX board_threads_sticky ON board_threads (forum_id, last_post_at) WHERE is_sticky = 1;
CREATE INDEX board_threads_held_author ON board_threads (author_id, forum_id, last_post_at) WHERE visibility = 1;
CREATE INDEX board_threads_author ON board_threads (author_id, forum_id, last_post_at);
CREATE INDEX board_threads_prefix ON board_threads (prefix_id) WHERE prefix_id IS NOT NULL;
CREATE INDEX board_threads_newest ON board_threads (last_post_at) WHERE visibility = 0;
CREATE INDEX board_post_ids_held ON board_post_ids (forum_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_held_author ON board_post_ids (author_id, thread_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_author ON board_post_ids (author_id);
CREATE INDEX board_post_ids_deleted ON board_post_ids (thread_id, created_at) WHERE visibility = 2;
CREATE INDEX board_posts_archive_thread ON board_posts_archive (thread_id);
CREATE INDEX board_thread_tags_newest ON board_thread_tags (tag_id, last_post_at, thread_id);
CREATE INDEX board_thread_tags_thread ON board_thread_tags (thread_id);
CREATE INDEX board_reactions_user ON board_reactions (user_id);
CREATE INDEX board_attachments_post ON board_attachments (post_id) WHERE removed_at IS NULL;
CREATE INDEX board_attachments_removed ON board_attachments (created_at) WHERE removed_at IS NOT NULL;
CREATE INDEX board_attachments_user ON board_attachments (user_id, size);
CREATE INDEX board_attachments_content ON board_attachments (sha256);
CREATE INDEX board_attachments_unstripped ON board_attachments (id) WHERE stripped = 0;
CREATE INDEX board_merged_threads_into ON board_merged_threads (into_id);
CREATE INDEX board_merged_threads_undone ON board_merged_threads (thread_id) WHERE merged_at IS NULL;
CREATE INDEX board_thread_reads_age ON board_thread_reads (read_at);
CREATE INDEX board_subscriptions_target ON board_subscriptions (target, target_id);
CREATE INDEX board_notifications_user ON board_notifications (user_id);
CREATE INDEX board_notifications_age ON board_notifications (created_at);
CREATE INDEX board_bookmarks_list ON board_bookmarks (user_id, id);
CREATE INDEX board_drafts_age ON board_drafts (saved_at);
CREATE INDEX board_idempotency_age ON board_idempotency (created_at);
CREATE INDEX board_conversations_starter ON board_conversations (starter_id, created_at);
CREATE INDEX board_conversation_messages_conversation ON board_conversation_messages (conversation_id, id);
CREATE INDEX board_conversation_messages_author ON board_conversation_messages (author_id);
CREATE INDEX board_conversation_members_list ON board_conversation_members (user_id, last_id);
CREATE INDEX board_conversation_members_unread ON board_conversation_members (user_id) WHERE read_id < last_id;
CREATE INDEX board_blocks_blocked ON board_blocks (blocked_id);
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;
CREATE INDEX board_reports_member ON board_reports (post_id, user_id);
CREATE UNIQUE INDEX board_reports_member_open ON board_reports (post_id, user_id) WHERE closed_at IS NULL;
CREATE INDEX board_message_reports_open ON board_message_reports (id) WHERE closed_at IS NULL;
CREATE INDEX board_message_reports_user ON board_message_reports (user_id, created_at);
CREATE INDEX board_reported_messages_author ON board_reported_messages (author_id);
CREATE INDEX board_warnings_user ON board_warnings (user_id, id);
CREATE INDEX board_member_notes_user ON board_member_notes (user_id, id);
CREATE INDEX board_moderation_log_forum ON board_moderation_log (forum_id, id);
CREATE INDEX board_moderation_log_actor ON board_moderation_log (actor_id, id);
CREATE INDEX board_moderation_log_action ON board_moderation_log (action, id);
CREATE INDEX board_webhook_deliveries_due ON board_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX board_webhook_deliveries_webhook ON board_webhook_deliveries (webhook_id);
CREATE INDEX board_webhook_deliveries_age ON board_webhook_deliveries (created_at);
CREATE INDEX board_mails_due ON board_mails (due_at);
CREATE INDEX run_nodes_latest ON run_nodes (latest_report);
CREATE INDEX run_reports_node ON run_reports (node, producer_timestamp);
CREATE INDEX run_reports_time ON run_reports (producer_timestamp);
CREATE INDEX run_reports_environment ON run_reports (environment);
CREATE INDEX run_resources_type ON run_resources (type);
CREATE INDEX run_resources_used ON run_resources (used_day);
CREATE INDEX run_resources_title ON run_resources (substr(title, 1, 100));
CREATE INDEX run_changes_used ON run_changes (used_day);
CREATE INDEX run_events_node ON run_events (node, at, status);
CREATE INDEX run_events_status ON run_events (status, at, node, resource, change, corrective_change);
CREATE INDEX run_events_resource ON run_events (resource, at, status, node, change, corrective_change);
CREATE INDEX run_events_report ON run_events (report, status, resource, node, change, corrective_change);
CREATE INDEX gateway_users_email ON gateway_users (email) WHERE email IS NOT NULL;
CREATE INDEX gateway_team_members_user ON gateway_team_members (user_id, added_at);
CREATE INDEX gateway_audit_team ON gateway_audit (team_id, id) WHERE team_id IS NOT NULL;
CREATE INDEX gateway_keys_user ON gateway_keys (user_id, created_at, id);
CREATE INDEX gateway_keys_active ON gateway_keys (user_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX gateway_keys_limited ON gateway_keys (limited_by) WHERE limited_by IS NOT NULL;
CREATE INDEX gateway_provider_keys_owner ON gateway_provider_keys (owner_kind, owner, created_at, id);
CREATE INDEX gateway_usage_records_user ON gateway_usage_records (user_id);
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model,
	record->>4 AS tier, record->>5 AS provider, record->>6 AS model, record->>7 AS stream,
	record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens,
	record->>15 AS reasoning_tokens, record->>16 AS usage_source, record->>17 AS cost_micro_usd,
	record->>18 AS latency_us, record->>19 AS first_token_us, record->>20 AS provider_key,
	record->>21 AS served_as, record->>22 AS server_tools, record->>23 AS team_id,
	record->>24 AS written_tokens, record->>25 AS tags, record->>26 AS end_user
FROM gateway_usage_records;
CREATE INDEX gateway_usage_hours_hour ON gateway_usage_hours (hour);
CREATE INDEX gateway_usage_days_key ON gateway_usage_days (key_id, day);
CREATE INDEX gateway_team_days_team ON gateway_team_days (team_id, day);
CREATE INDEX gateway_alerts_age ON gateway_alerts (created_at);
CREATE INDEX gateway_alert_messages_due ON gateway_alert_messages (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX gateway_objects_newest ON gateway_objects (user_id, team_id, kind, created_at, id);
CREATE INDEX gateway_objects_uncharged ON gateway_objects (polled_at, id) WHERE charged = 0;
CREATE INDEX gateway_answer_items_owner ON gateway_answer_items (owner, expires_at, id, size);
CREATE INDEX gateway_answer_items_expires ON gateway_answer_items (expires_at);
CREATE INDEX gateway_responses_expires ON gateway_responses (expires_at);
CREATE INDEX gateway_responses_running ON gateway_responses (leased_until, id) WHERE runner <> '';
CREATE INDEX gateway_responses_owner ON gateway_responses (owner, size);
CREATE INDEX gateway_response_items_response ON gateway_response_items (response);
CREATE INDEX gateway_response_events_response ON gateway_response_events (response, last);
CREATE INDEX gateway_response_events_expires ON gateway_response_events (expires_at);
CREATE INDEX gateway_response_events_owner ON gateway_response_events (owner, size);
CREATE INDEX gateway_conversations_owner ON gateway_conversations (owner);
CREATE INDEX gateway_conversations_expires ON gateway_conversations (expires_at);
CREATE UNIQUE INDEX gateway_conversation_items_place ON gateway_conversation_items (conversation, place);
CREATE INDEX gateway_conversation_items_size ON gateway_conversation_items (conversation, size);
COMMIT;
