-- ada: brd_pat_4nay7mcnjv_NAdkbtWr7YFhi_rSamdRr7y2S-W1DMO9uVOllF3iftQ
-- answer_key: ans_1NU9oex22lzpOVBJ_QtiaUT-gW8BuMUm1bZgdlnu7SEoxPdxLfPGPhXd1Sjc
-- bob: brd_pat_5oefvhjgub_86GRD2dvAUsn-HbmBBnrWN6NJO7psIPSKdOQlTx_fHs
-- client: BMU7I65CYUFHBWL6LBUA2CHPUK
-- client_secret: HCaXxlyJguz8LqLv3ODsZ8qCnou93zYi1AdDM_Isg18
-- cms_password: ZQQAJ3FIQO45BENGGXGS
-- gateway_key: ak-hNLTYJqzVoGjU1OhZzY7ewlTiL45M2NBej6gm2cT
-- kid: rRqvG9LiyC3-YNINuTkg9fh8Dek-cA4_AALw1AobyXY
-- once: 6
-- refresh: 2AL473FRSQ2HDBKVGZCA5E3G3ODpYFD9DaISHox11qC2VLnex9hO9OPcDXF0cg9WaJSJ8cBL8Hc0PmmjtrMXBvDbu1
-- root: brd_pat_hxcefzxdq5_hwcCNNJTNt7EzuC4cNWq7B6T0LW57rLEJjsT28CElmE

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
	, additive_in TEXT);
INSERT INTO schema_board VALUES (1, 0, 1, '2026-11-28 14:08:10', NULL);
INSERT INTO schema_board VALUES (2, 31, 1, '2026-11-28 14:08:10', NULL);
INSERT INTO schema_board VALUES (3, 32, 1, '2026-11-28 15:01:37', '0.1.0');
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
INSERT INTO keyring_checks VALUES ('cms', 'aes1.4oVf29bD90eD0TA8T19HeQiv_Pq7nkWKV-c-0eAuEgkIMxWXOIoeKILQKKY');
INSERT INTO keyring_checks VALUES ('answer', 'aes1.4oVf22-VhOyxK-UY1rbU7MjhB-h8mO9xFfvtyt7VPh5p3Z52QkwF_ShZ1QI');
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
, flood_reactions BIGINT NOT NULL DEFAULT 0);
INSERT INTO board_users VALUES (1, 'root', 'root', 'root@example.com', 'root@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$a3WWGMyLqN8i8Nw1Vt9DmA$GWv1RBDK1pV6DPEKPqUuon9ySgM0/D4nOMxHH+lZb5I', 0, 'active', NULL, NULL, 0, 0, 0, 1795377561184521, 1795377561657549, NULL, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0, 0);
INSERT INTO board_users VALUES (2, 'ada', 'ada', 'ada@example.com', 'ada@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$0b/hII3Mm03CcmQYLz7dxQ$/MD2ti73R2S5H/iWaF7GiqDxnEOw9ZYz1Ayen4tmXzU', 0, 'active', NULL, NULL, 0, 0, 12, 1795377561241781, 1795377561758714, 1767225840000000, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0, 0);
INSERT INTO board_users VALUES (3, 'bob', 'bob', 'bob@example.com', 'bob@example.com', 1, '', '$argon2id$v=19$m=19456,t=2,p=1$yukQW9h+TQm34T36Y5U5hQ$RVz9ipbcWf2A34VZjeECldq3AkBED2CY7lA2jnOpdDA', 0, 'active', NULL, NULL, 0, 0, 13, 1795377561276878, NULL, 1795377561761319, '', '', 'UTC', '', 1, 1, 1, 1, 6, 1, 367200000000, 0, 0, 0, 0, 0);
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
, has_poll BIGINT NOT NULL DEFAULT 0);
INSERT INTO board_threads VALUES (1, 2, 'A thread', 'a-thread', 2, 'ada', NULL, 0, 0, 0, 3, 1, 1, 7, 0, 'bob', 1767225600000000, 1795377561761319, 7, 0);
INSERT INTO board_threads VALUES (2, 3, 'Another', 'another', 2, 'ada', 1, 0, 0, 0, 0, 0, 5, 5, 0, 'ada', 1767225840000000, 1767225840000000, 2, 0);
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
	saved_at   BIGINT NOT NULL, tags TEXT NOT NULL DEFAULT '',
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
INSERT INTO board_settings VALUES ('search_indexed', 'all');
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
INSERT INTO gateway_sweeps VALUES ('usage', 'JCC3TPLQOBWEUPKFNO2BNCTAKZ', 1795879102727178);
CREATE TABLE schema_authserver (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_authserver VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_authserver VALUES (2, 86, 1, '2026-11-28 14:18:19');
CREATE TABLE schema_cms_blob (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_cms_blob VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_cms_blob VALUES (2, 1, 1, '2026-11-28 14:18:19');
CREATE TABLE schema_cms_webhook (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_cms_webhook VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_cms_webhook VALUES (2, 1, 1, '2026-11-28 14:18:19');
CREATE TABLE schema_cms_jobs (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_cms_jobs VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_cms_jobs VALUES (2, 1, 1, '2026-11-28 14:18:19');
CREATE TABLE schema_cms (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_cms VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_cms VALUES (2, 15, 1, '2026-11-28 14:18:19');
CREATE TABLE schema_answer (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_answer VALUES (1, 0, 1, '2026-11-28 14:18:19');
INSERT INTO schema_answer VALUES (2, 70, 1, '2026-11-28 14:18:19');
CREATE TABLE authserver_clients (
	id           TEXT  NOT NULL PRIMARY KEY, -- client_id
	name         TEXT NOT NULL,
	secret       TEXT NOT NULL DEFAULT '', -- the scheme and digest; empty: a public client, or one with a key
	auth_method  TEXT NOT NULL, -- token_endpoint_auth_method
	redirects    TEXT NOT NULL, -- redirect_uris
	grants       TEXT NOT NULL, -- grant_types
	responses    TEXT NOT NULL, -- response_types
	scope        TEXT NOT NULL DEFAULT '', -- the most it may get, words separated by blanks; empty: nothing
	agent        SMALLINT NOT NULL DEFAULT 0,
	agent_text   TEXT NOT NULL DEFAULT '', -- agent_description
	metadata     TEXT NOT NULL DEFAULT '{}', -- the other members of RFC 7591
	status       TEXT NOT NULL, -- active, suspended, revoked
	source       TEXT NOT NULL, -- admin, dcr, cimd
	registration TEXT NOT NULL DEFAULT '', -- digest of the registration access token (RFC 7592)
	issued_at    BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	-- When the metadata document of a client that is known by its URL must be fetched again; 0 for other clients.
	fresh_until  BIGINT NOT NULL DEFAULT 0,
	-- When a client that registered itself last made a request, to the hour; 0: never.
	seen_at      BIGINT NOT NULL DEFAULT 0
);
INSERT INTO authserver_clients VALUES ('BMU7I65CYUFHBWL6LBUA2CHPUK', 'Reader', '$argon2id$v=19$m=19456,t=2,p=1$wqkSjMTn1AgAB+BseI2T/Q$EGkFHfy2rpgDapCHJVVm/z3UOj6kq3r1H06Pd3u/njU', 'client_secret_post', '["http://127.0.0.1:1/back"]', '["authorization_code","refresh_token","client_credentials"]', '["code"]', 'notes:read', 0, '', '{"application_type":"web"}', 'active', 'admin', '', 1795875501381418, 1795875501381418, 0, 0);
CREATE TABLE authserver_users (
	id             TEXT  NOT NULL PRIMARY KEY, -- sub
	email          TEXT NOT NULL, -- as the user typed it
	email_key      TEXT  NOT NULL UNIQUE, -- the same for all ways to write the address
	email_verified SMALLINT NOT NULL DEFAULT 0,
	name           TEXT NOT NULL DEFAULT '',
	-- The language of pages and mails that the user has chosen; empty: the browser decides.
	language       TEXT NOT NULL DEFAULT '',
	password       TEXT NOT NULL DEFAULT '', -- a slow hash; empty: no password is accepted
	role           TEXT NOT NULL DEFAULT 'user', -- user, admin
	user_groups    TEXT NOT NULL DEFAULT '[]',
	-- 1: the provider has named the groups of the user. If it then names none, the user has none.
	groups_told    BIGINT NOT NULL DEFAULT 0,
	status         TEXT NOT NULL DEFAULT 'active', -- pending, active, disabled
	-- When the account is deleted because the user asked for it; NULL: it stays.
	delete_at      BIGINT,
	provider       TEXT NOT NULL DEFAULT 'local', -- local, oidc
	issuer         TEXT NOT NULL DEFAULT '', -- the provider of the account, and its name for the user
	subject        TEXT NOT NULL DEFAULT '',
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
INSERT INTO authserver_users VALUES ('01a22285-71cd-730c-85fa-5011f0117db7', 'ann@example.com', 'ann@example.com', 0, '', '', '$argon2id$v=19$m=19456,t=2,p=1$s4sqFgsis/vMdDNj8En32Q$hFL+UbxDyOUqTUEqPS1mLPs73jDCpvCv/U4vUlEwGCY', 'user', '[]', 0, 'active', NULL, 'local', '', '', 1795875500493193, 1795875500493193);
CREATE TABLE authserver_identities (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id     TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	issuer      TEXT  NOT NULL,
	subject     TEXT  NOT NULL,
	username    TEXT NOT NULL DEFAULT '', -- the name at the provider, shown to the user
	user_groups TEXT NOT NULL DEFAULT '[]', -- those that the provider has named
	created_at  BIGINT NOT NULL,
	used_at     BIGINT NOT NULL DEFAULT 0, -- 0: never
	UNIQUE (issuer, subject)
);
CREATE TABLE authserver_user_facts (
	user_id    TEXT  NOT NULL PRIMARY KEY REFERENCES authserver_users (id) ON DELETE CASCADE,
	roles      TEXT NOT NULL DEFAULT '[]',
	attributes TEXT NOT NULL DEFAULT '{}' -- lists of values, by name
);
CREATE TABLE authserver_group_roles (
	group_name TEXT  NOT NULL PRIMARY KEY,
	roles      TEXT NOT NULL
);
CREATE TABLE authserver_factors (
	id         TEXT  NOT NULL PRIMARY KEY,
	user_id    TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	kind       TEXT NOT NULL, -- app, passkey
	name       TEXT NOT NULL,
	secret     TEXT NOT NULL DEFAULT '', -- that of an app, sealed
	step       BIGINT NOT NULL DEFAULT 0, -- that of the last code of an app that was used
	credential TEXT NOT NULL DEFAULT '', -- that of a passkey: its public key and attributes
	handle     TEXT  NOT NULL DEFAULT '', -- the id of the credential of a passkey
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL DEFAULT 0 -- 0: never
);
CREATE TABLE authserver_recovery (
	user_id TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	digest  TEXT  NOT NULL,
	PRIMARY KEY (user_id, digest)
);
CREATE TABLE authserver_attempts (
	key     TEXT  NOT NULL PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE TABLE authserver_links (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind         TEXT NOT NULL,
	user_id      TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	email        TEXT NOT NULL,
	secret_hash  TEXT  UNIQUE, -- NULL: the mail is not sent yet
	expires_at   BIGINT NOT NULL,
	due_at       BIGINT DEFAULT 0, -- when the mail is to be sent; NULL: it is sent
	attempts     BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0,
	-- The language of the page on which the mail was requested.
	language     TEXT NOT NULL DEFAULT ''
);
CREATE TABLE authserver_sessions (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	secret_hash  TEXT  NOT NULL UNIQUE,
	user_id      TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL, -- when the user signed in: auth_time
	methods      TEXT NOT NULL DEFAULT '', -- amr (RFC 8176); empty: an upstream provider knows
	-- Where the session began, so that the user recognizes it.
	address      TEXT NOT NULL DEFAULT '',
	agent        TEXT NOT NULL DEFAULT '' -- the User-Agent of the browser
);
INSERT INTO authserver_sessions VALUES (1, 'fb752e48575c08909234a929d6188f11c41320cbb6a07e9874992826ed843310', '01a22285-71cd-730c-85fa-5011f0117db7', 4161075501940710, 4161075501940710, 4161075501940710, 'pwd', '127.0.0.1', 'Go-http-client/1.1');
CREATE TABLE authserver_session_clients (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	session_id   BIGINT REFERENCES authserver_sessions (id) ON DELETE SET NULL,
	client_id    TEXT  NOT NULL,
	user_id      TEXT  NOT NULL,
	sid          TEXT  NOT NULL,
	began_at     BIGINT NOT NULL, -- when the session began
	attempts     BIGINT NOT NULL DEFAULT 0,
	due_at       BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0,
	UNIQUE (session_id, client_id)
);
CREATE TABLE authserver_resources (
	id           TEXT  NOT NULL PRIMARY KEY,
	slug         TEXT  NOT NULL UNIQUE,
	uri          TEXT  UNIQUE, -- NULL for broker resources
	kind         TEXT NOT NULL, -- backend_kind: mint, broker
	display_name TEXT NOT NULL DEFAULT '',
	scopes       TEXT NOT NULL DEFAULT '[]', -- objects with name, description and upstream
	provider_id  TEXT NOT NULL DEFAULT '', -- empty for mint resources
	policy       TEXT NOT NULL DEFAULT '{}',
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	claim_rules  TEXT NOT NULL DEFAULT '[]'
);
INSERT INTO authserver_resources VALUES ('C7KF5QAESZAC3T4WZCPWY74WOH', 'notes', 'https://notes.example.com/', 'mint', 'Notes', '[{"name":"notes:read"}]', '', '{"exchange":{},"runtime":{},"connect":{}}', 1795875499521756, 1795875499521756, '[]');
CREATE TABLE authserver_consents (
	id          TEXT  NOT NULL PRIMARY KEY,
	user_id     TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	client_id   TEXT  NOT NULL REFERENCES authserver_clients (id) ON DELETE CASCADE,
	resource_id TEXT  NOT NULL, -- empty: none
	scope       TEXT NOT NULL,
	redirects   TEXT NOT NULL DEFAULT '', -- the digest of the redirect URIs at that time
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, client_id, resource_id)
);
INSERT INTO authserver_consents VALUES ('46WU33N4G6ZLPD26JXKLVGTPZU', '01a22285-71cd-730c-85fa-5011f0117db7', 'BMU7I65CYUFHBWL6LBUA2CHPUK', 'C7KF5QAESZAC3T4WZCPWY74WOH', 'notes:read', '90a374729c495c7045a07c2b5b625f39f6066375893caa80067ec7ea2a63879c', 1795875502006761, 1795875502006761);
CREATE TABLE authserver_codes (
	digest     TEXT  NOT NULL PRIMARY KEY,
	family     TEXT  NOT NULL, -- that of the tokens that are issued for it
	client_id  TEXT  NOT NULL,
	user_id    TEXT  NOT NULL,
	granted    TEXT NOT NULL, -- an object: what was granted
	failures   SMALLINT NOT NULL DEFAULT 0, -- counts wrong verifiers
	spent_at   BIGINT NOT NULL DEFAULT 0, -- 0: not yet
	expires_at BIGINT NOT NULL
);
INSERT INTO authserver_codes VALUES ('hvJs4blYo6boRGPG5a-NsSyR_BxvWE2R9JH2dwm27Qg', '2AL473FRSQ2HDBKVGZCA5E3G3O', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '01a22285-71cd-730c-85fa-5011f0117db7', '{"scope":["notes:read"],"resources":["C7KF5QAESZAC3T4WZCPWY74WOH"],"consents":["46WU33N4G6ZLPD26JXKLVGTPZU"],"redirect_uri":"http://127.0.0.1:1/back","redirect_given":true,"challenge":"UzSnrOW8xwcyByJ_sZ6ScZfhUyVdydG6QppvqXDTtPw","auth_time":"2026-11-28T14:18:21.94071Z","amr":["pwd"],"session":1}', 0, 4161075502091083, 4161075562021133);
CREATE TABLE authserver_pushed (
	digest     TEXT  NOT NULL PRIMARY KEY, -- that of the end of request_uri
	client_id  TEXT  NOT NULL,
	request    TEXT NOT NULL, -- the parameters, as a form
	expires_at BIGINT NOT NULL
);
CREATE TABLE authserver_devices (
	digest     TEXT  NOT NULL PRIMARY KEY, -- that of the device code
	user_code  TEXT  NOT NULL UNIQUE, -- its letters
	client_id  TEXT  NOT NULL,
	asked      TEXT NOT NULL, -- an object: scope and resources
	status     TEXT NOT NULL DEFAULT 'pending', -- pending, allowed, denied
	user_id    TEXT  NOT NULL DEFAULT '', -- who allowed or denied it
	granted    TEXT NOT NULL DEFAULT '{}', -- an object: what was granted
	polled_at  BIGINT NOT NULL DEFAULT 0,
	pause      BIGINT NOT NULL, -- the least time between two polls, in microseconds
	expires_at BIGINT NOT NULL
);
CREATE TABLE authserver_once (
	digest     BLOB NOT NULL PRIMARY KEY, -- the SHA-256 of its name
	expires_at BIGINT NOT NULL -- from then on it is refused as expired
) WITHOUT ROWID;
CREATE TABLE authserver_families (
	id         TEXT  NOT NULL PRIMARY KEY,
	client_id  TEXT  NOT NULL,
	user_id    TEXT  NOT NULL,
	granted    TEXT NOT NULL,
	generation BIGINT NOT NULL DEFAULT 0, -- grows with each refresh
	present    TEXT NOT NULL, -- the digests of the refresh tokens that are accepted, separated by blanks
	previous   TEXT NOT NULL DEFAULT '', -- the digest of the one that was last used
	graces     SMALLINT NOT NULL DEFAULT 0, -- how often that one was accepted again
	rotated_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL DEFAULT 0, -- 0: it is not revoked
	reason     TEXT NOT NULL DEFAULT '' -- why it was revoked
);
INSERT INTO authserver_families VALUES ('2AL473FRSQ2HDBKVGZCA5E3G3O', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '01a22285-71cd-730c-85fa-5011f0117db7', '{"scope":["notes:read"],"resources":["C7KF5QAESZAC3T4WZCPWY74WOH"],"consents":["46WU33N4G6ZLPD26JXKLVGTPZU"],"auth_time":"2026-11-28T14:18:21.94071Z","amr":["pwd"],"session":1,"key":"EKpbc2Ay48glXNShBwY8h8YnGiLy+D4z1R0wrPVX+mw="}', 0, 'Rx8b57utFlB78dM47bxqU76wWGPXaetw-Q9fZM8L52U', '', 0, 4161075502090938, 4161075502090938, 4161680302090938, 0, '');
CREATE TABLE authserver_issuances (
	id                INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	jti               TEXT  NOT NULL UNIQUE,
	family            TEXT  NOT NULL DEFAULT '', -- empty: of no family
	user_id           TEXT  NOT NULL DEFAULT '', -- empty: the client's own
	client_id         TEXT  NOT NULL,
	consent_client_id TEXT NOT NULL DEFAULT '',
	resource_id       TEXT NOT NULL DEFAULT '',
	scope             TEXT NOT NULL DEFAULT '',
	kind              TEXT NOT NULL DEFAULT 'mint', -- backend_kind
	parent_jti        TEXT NOT NULL DEFAULT '',
	jkt               TEXT NOT NULL DEFAULT '',
	agent_id          TEXT NOT NULL DEFAULT '',
	agent_chain       TEXT NOT NULL DEFAULT '',
	issued_at         BIGINT NOT NULL,
	expires_at        BIGINT NOT NULL,
	revoked_at        BIGINT NOT NULL DEFAULT 0
);
INSERT INTO authserver_issuances VALUES (1, '2AL473FRSQ2HDBKVGZCA5E3G3O.2AL473FS3FPXH2EFYZZNOPMROS', '2AL473FRSQ2HDBKVGZCA5E3G3O', '01a22285-71cd-730c-85fa-5011f0117db7', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '', 'C7KF5QAESZAC3T4WZCPWY74WOH', 'notes:read', 'mint', '', '', '', '', 4161075502090615, 4161076402000000, 0);
CREATE TABLE authserver_denied (
	id         TEXT  NOT NULL PRIMARY KEY,
	at         BIGINT NOT NULL,
	expires_at BIGINT NOT NULL -- from then on all of it has expired anyway
);
CREATE TABLE authserver_keys (
	kid        TEXT  NOT NULL PRIMARY KEY, -- the thumbprint of the public key (RFC 7638)
	algorithm  TEXT NOT NULL,
	private    TEXT NOT NULL, -- PKCS #8, sealed
	created_at BIGINT NOT NULL
);
INSERT INTO authserver_keys VALUES ('rRqvG9LiyC3-YNINuTkg9fh8Dek-cA4_AALw1AobyXY', 'ES256', 'AUiE_aq5lkzUU1EarZkbIf3L6HaJQOOgVHsVHHUOJlsrfflhzu_promtrzhEAXByUBH2AIIwDgLWm6eGhgC0jgHeXNda5jJ2T5ipHWBn7dw-G8zLt6HxZ56AebkQed614GKfObPLcVBJej8y3MyW-NvG8h92DjnPeIX011TCWX0ucDy6Vj1oZQ9fQaYpFHowVUSrx7C4CgiBIWZeqsEuZ8WMZm6EgDKmn-9T', 1795875499559704);
CREATE TABLE authserver_kms_keys (
	name     TEXT  NOT NULL PRIMARY KEY, -- the name of the key, with its server
	versions TEXT NOT NULL -- signed by this server
);
CREATE TABLE authserver_idps (
	id         TEXT  NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	issuer     TEXT  NOT NULL UNIQUE,
	jwks_uri   TEXT NOT NULL DEFAULT '', -- empty: the one of its discovery document
	audience   TEXT NOT NULL DEFAULT '', -- empty: the issuer of this server
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE TABLE authserver_xaa_policies (
	id         TEXT  NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	idp_id     TEXT  NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	client_ids TEXT NOT NULL,
	scopes     TEXT NOT NULL,
	resources  TEXT NOT NULL,
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE TABLE authserver_xaa_subjects (
	id          TEXT  NOT NULL PRIMARY KEY,
	idp_id      TEXT  NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	idp_subject TEXT  NOT NULL,
	user_id     TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at  BIGINT NOT NULL,
	UNIQUE (idp_id, idp_subject)
);
CREATE TABLE authserver_brokers (
	id           TEXT  NOT NULL PRIMARY KEY,
	slug         TEXT  NOT NULL UNIQUE,
	display_name TEXT NOT NULL DEFAULT '',
	protocol     TEXT NOT NULL, -- oauth, api_key, service_account
	config       TEXT NOT NULL DEFAULT '{}',
	secret       TEXT NOT NULL DEFAULT '', -- the client_secret of config, sealed; empty: none
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);
CREATE TABLE authserver_connections (
	id          TEXT  NOT NULL PRIMARY KEY,
	user_id     TEXT  NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	provider_id TEXT  NOT NULL REFERENCES authserver_brokers (id) ON DELETE CASCADE,
	credential  TEXT NOT NULL, -- an object, sealed
	scope       TEXT NOT NULL DEFAULT '', -- what the provider has granted, as its scopes
	version     BIGINT NOT NULL DEFAULT 1, -- grows with each credential
	revoked_at  BIGINT NOT NULL DEFAULT 0, -- when the provider rejected it; 0: never
	expires_at  BIGINT NOT NULL DEFAULT 0, -- when the access token expires; 0: not known
	lease       TEXT NOT NULL DEFAULT '', -- the process that renews it with the refresh token of this version
	lease_until BIGINT NOT NULL DEFAULT 0,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, provider_id)
);
CREATE TABLE authserver_connecting (
	digest      TEXT  NOT NULL PRIMARY KEY, -- that of the beginning of state
	user_id     TEXT  NOT NULL,
	provider_id TEXT  NOT NULL,
	return_url  TEXT NOT NULL,
	scope       TEXT NOT NULL, -- what was requested, as the provider's scopes
	expires_at  BIGINT NOT NULL
);
CREATE TABLE authserver_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);
CREATE TABLE authserver_audit (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	action     TEXT  NOT NULL,
	actor_id   TEXT  NOT NULL DEFAULT '',
	client_id  TEXT  NOT NULL DEFAULT '',
	ip         TEXT NOT NULL DEFAULT '',
	detail     TEXT NOT NULL DEFAULT '',
	trace_id   TEXT NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
INSERT INTO authserver_audit VALUES (1, 'user.created', 'admin', '', '', 'user=01a22285-71cd-730c-85fa-5011f0117db7', '', 4161075500924946);
INSERT INTO authserver_audit VALUES (2, 'client.created_admin', 'admin', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '127.0.0.1', 'name=Reader', '', 4161075501395153);
INSERT INTO authserver_audit VALUES (3, 'user.login', '01a22285-71cd-730c-85fa-5011f0117db7', '', '127.0.0.1', '', '', 4161075501963103);
INSERT INTO authserver_audit VALUES (4, 'consent.granted', '01a22285-71cd-730c-85fa-5011f0117db7', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '127.0.0.1', 'scope=notes:read', '', 4161075502021047);
INSERT INTO authserver_audit VALUES (5, 'token.issued', '01a22285-71cd-730c-85fa-5011f0117db7', 'BMU7I65CYUFHBWL6LBUA2CHPUK', '127.0.0.1', 'grant=authorization_code jti=2AL473FRSQ2HDBKVGZCA5E3G3O.2AL473FS3FPXH2EFYZZNOPMROS scope=notes:read', '', 4161075502096691);
CREATE TABLE cms_contents (
	sha256    TEXT   NOT NULL,
	part      BIGINT NOT NULL,
	data      BLOB NOT NULL,
	stored_at BIGINT NOT NULL,
	PRIMARY KEY (sha256, part)
);
CREATE TABLE cms_webhooks (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url             TEXT   NOT NULL,
	topics          TEXT   NOT NULL,             -- words, each between spaces: ' post.created post.held '
	secret          TEXT   NOT NULL,             -- sealed
	enabled         BIGINT NOT NULL DEFAULT 1,
	disabled_reason TEXT   NOT NULL DEFAULT '',
	created_by      TEXT   NOT NULL,
	created_at      BIGINT NOT NULL
);
INSERT INTO cms_webhooks VALUES (1, 'http://127.0.0.1:9/page', ' page.changed ', 'aes1.4oVf24X4BdyfXji68fReapDseBV9YxMBgNmlLrJPmOuBekCM44BT-r5an8ldxNFHnlQJYmqq4QYyiptlhcgzGT6kWboO_nqF3EwtWF1IWeklJVFJnQ', 1, '', 'ann', 1795875505930017);
CREATE TABLE cms_webhook_deliveries (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	webhook_id   BIGINT NOT NULL REFERENCES cms_webhooks (id) ON DELETE CASCADE,
	event        TEXT   NOT NULL,                -- the same for all webhooks that are told
	topic        TEXT   NOT NULL,
	body         TEXT   NOT NULL,
	state        TEXT   NOT NULL DEFAULT 'pending',  -- pending, delivered or failed
	attempts     BIGINT NOT NULL DEFAULT 0,
	next_at      BIGINT,                         -- NULL: no more attempts
	leased_until BIGINT NOT NULL DEFAULT 0,      -- a node is at it
	answer       TEXT   NOT NULL DEFAULT '',     -- of the last attempt
	created_at   BIGINT NOT NULL,
	tried_at     BIGINT
);
CREATE TABLE cms_leases (
	name   TEXT   NOT NULL PRIMARY KEY,
	holder TEXT   NOT NULL,
	until  BIGINT NOT NULL -- Unix microseconds
);
CREATE TABLE cms_users (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name            TEXT  NOT NULL UNIQUE, -- a-z 0-9 . _ -
	email           TEXT NOT NULL DEFAULT '',
	email_key       TEXT  UNIQUE, -- folded; NULL: no address
	-- 1: an administrator has set the address, or a provider has confirmed it. 0: the user has set it.
	email_confirmed BIGINT NOT NULL DEFAULT 0,
	password_hash   TEXT NOT NULL DEFAULT '', -- empty: no password is accepted
	status          TEXT NOT NULL DEFAULT 'active', -- active, disabled
	created         BIGINT NOT NULL,
	modified        BIGINT NOT NULL,
	-- Grows with each change after which earlier sessions and tokens are no longer accepted.
	epoch           BIGINT NOT NULL DEFAULT 0
);
INSERT INTO cms_users VALUES (1, 'guest', '', NULL, 0, '', 'active', 0, 0, 0);
INSERT INTO cms_users VALUES (2, 'ann', '', NULL, 0, '$argon2id$v=19$m=19456,t=2,p=1$vzVCUYiD2QFkl5zAUUFQOg$/9yYELBb+DbtxQqQbsn7G5qCjNCKVH/PHHC2jNhjVfo', 'active', 1795875504003648, 1795875504003648, 1);
CREATE TABLE cms_roles (
	id    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name  TEXT  NOT NULL UNIQUE,
	label TEXT NOT NULL DEFAULT ''
);
INSERT INTO cms_roles VALUES (1, 'guest', 'Everybody');
INSERT INTO cms_roles VALUES (2, 'superuser', 'May do everything');
CREATE TABLE cms_user_roles (
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	role_id BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	PRIMARY KEY (user_id, role_id)
);
INSERT INTO cms_user_roles VALUES (2, 2);
CREATE TABLE cms_permissions (
	role_id    BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	permission TEXT  NOT NULL,
	PRIMARY KEY (role_id, permission)
);
CREATE TABLE cms_identities (
	issuer  TEXT  NOT NULL,
	subject TEXT  NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- nobody else of a provider gets into a user's account
) WITHOUT ROWID;
CREATE TABLE cms_sessions (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	secret_hash  TEXT  NOT NULL UNIQUE,
	user_id      BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL,
	epoch        BIGINT NOT NULL DEFAULT 0, -- that of the user when the session began
	data         TEXT NOT NULL DEFAULT '', -- an object; empty: nothing
	-- The OpenID provider with which the user signed in; empty: with a password.
	issuer       TEXT NOT NULL DEFAULT ''
);
CREATE TABLE cms_revoked_tokens (
	jti     TEXT  PRIMARY KEY,
	ends_at BIGINT NOT NULL
);
CREATE TABLE cms_refresh_tokens (
	hash    TEXT  PRIMARY KEY,
	family  TEXT  NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	epoch   BIGINT NOT NULL,
	used    BIGINT NOT NULL DEFAULT 0, -- 1: it was exchanged for another one
	ends_at BIGINT NOT NULL
);
CREATE TABLE cms_attempts (
	key     TEXT  PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE TABLE cms_fields (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name     TEXT  NOT NULL UNIQUE,
	type     TEXT NOT NULL,
	-- 1: values are stored under the name and id of the field, such as price#17, so that those of a deleted field,
	-- which pages keep until they are saved, never become values of a new field of the same name. 0: they are stored
	-- under the name alone, as of fields that are older than this column.
	numbered SMALLINT NOT NULL DEFAULT 0,
	label    TEXT NOT NULL DEFAULT '',
	required SMALLINT NOT NULL DEFAULT 0,
	settings TEXT NOT NULL DEFAULT '{}'
);
INSERT INTO cms_fields VALUES (1, 'title', 'text', 0, 'Title', 1, '{}');
CREATE TABLE cms_templates (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name         TEXT  NOT NULL UNIQUE,
	label        TEXT NOT NULL DEFAULT '',
	flags        BIGINT NOT NULL DEFAULT 0,
	family       TEXT NOT NULL DEFAULT '{}', -- which templates the parents and children of its pages may have
	view_roles   TEXT NOT NULL DEFAULT '[]',
	edit_roles   TEXT NOT NULL DEFAULT '[]',
	create_roles TEXT NOT NULL DEFAULT '[]'
);
INSERT INTO cms_templates VALUES (1, 'root', 'Root', 1, '{"one":true}', '[1]', '[]', '[]');
INSERT INTO cms_templates VALUES (2, 'home', 'Home', 1, '{"one":true}', '[1]', '[]', '[]');
INSERT INTO cms_templates VALUES (3, 'admin', 'Administration', 1, '{"one":true}', '[]', '[]', '[]');
INSERT INTO cms_templates VALUES (4, 'users', 'Users', 1, '{"one":true}', '[]', '[]', '[]');
CREATE TABLE cms_template_fields (
	template_id BIGINT NOT NULL REFERENCES cms_templates (id) ON DELETE CASCADE,
	field_id    BIGINT NOT NULL REFERENCES cms_fields (id),
	position    BIGINT NOT NULL,
	PRIMARY KEY (template_id, field_id)
);
CREATE TABLE cms_pages (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	parent_id    BIGINT REFERENCES cms_pages (id), -- NULL: the root
	template_id  BIGINT NOT NULL REFERENCES cms_templates (id),
	name         TEXT  NOT NULL, -- a dot and the id while in the trash
	path         TEXT  NOT NULL UNIQUE,
	title        TEXT NOT NULL,
	status       SMALLINT NOT NULL, -- 0 published, 1 hidden, 2 unpublished, 3 trash
	sort         BIGINT NOT NULL, -- the place among its siblings
	data         TEXT NOT NULL,
	created      BIGINT NOT NULL,
	created_by   BIGINT NOT NULL,
	modified     BIGINT NOT NULL,
	modified_by  BIGINT NOT NULL,
	published    BIGINT NOT NULL DEFAULT 0, -- for the first time; 0: never
	version      BIGINT NOT NULL DEFAULT 1,
	draft        TEXT, -- the title and data that are to be published
	publish_at   BIGINT, -- NULL: by hand only
	unpublish_at BIGINT,
	-- In the trash: the page that was deleted together with this one, and the former name and status.
	trash_root   BIGINT,
	trash_name   TEXT,
	trash_status SMALLINT,
	UNIQUE (parent_id, name)
);
INSERT INTO cms_pages VALUES (1, NULL, 1, '', '/', 'Root', 0, 1, '{}', 1795875499945465, 0, 1795875499945465, 0, 1795875499945465, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO cms_pages VALUES (2, 1, 2, 'home', '/home', 'House', 0, 1, '{}', 1795875500053635, 0, 1795875505729760, 2, 1795875500053635, 2, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO cms_pages VALUES (3, 1, 3, 'admin', '/admin', 'Administration', 0, 2, '{}', 1795875500072973, 0, 1795875500072973, 0, 1795875500072973, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO cms_pages VALUES (4, 3, 4, 'users', '/admin/users', 'Users', 0, 1, '{}', 1795875500129380, 0, 1795875500129380, 0, 1795875500129380, 1, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE cms_page_values (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	field_id BIGINT NOT NULL,
	page_id  BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	n        BIGINT NOT NULL, -- counts the values of a field with several, from 0
	text     TEXT , -- folded, its first 200 characters
	num      DOUBLE PRECISION,
	whole    TEXT -- all of the folded text if it is longer
);
INSERT INTO cms_page_values VALUES (1, 1, 1, 0, 'root', NULL, NULL);
INSERT INTO cms_page_values VALUES (3, 1, 3, 0, 'administration', NULL, NULL);
INSERT INTO cms_page_values VALUES (4, 1, 4, 0, 'users', NULL, NULL);
INSERT INTO cms_page_values VALUES (5, 1, 2, 0, 'house', NULL, NULL);
CREATE VIRTUAL TABLE cms_search USING fts5 (words, content = '', contentless_delete = 1,
	tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
CREATE TABLE cms_page_ancestors (
	ancestor_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	page_id     BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	PRIMARY KEY (ancestor_id, page_id)
) WITHOUT ROWID;
INSERT INTO cms_page_ancestors VALUES (1, 2);
INSERT INTO cms_page_ancestors VALUES (1, 3);
INSERT INTO cms_page_ancestors VALUES (1, 4);
INSERT INTO cms_page_ancestors VALUES (3, 4);
CREATE TABLE cms_page_revisions (
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL, -- the version of the page
	title   TEXT NOT NULL,
	data    TEXT NOT NULL,
	by_user BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (page_id, rev)
) WITHOUT ROWID;
INSERT INTO cms_page_revisions VALUES (2, 1, 'Home', '{}', 0, 1795875500053635);
CREATE TABLE cms_page_redirects (
	path    TEXT  NOT NULL PRIMARY KEY,
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	at      BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE cms_files (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	page_id    BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	field      TEXT NOT NULL,
	hash       TEXT  NOT NULL, -- names the content
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	width      BIGINT NOT NULL, -- 0: not an image
	height     BIGINT NOT NULL,
	created    BIGINT NOT NULL,
	created_by BIGINT NOT NULL
);
CREATE TABLE answer_issuers (
	id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name     TEXT NOT NULL,
	name_key TEXT  NOT NULL UNIQUE, -- the same for all ways to write the name
	ticker   TEXT NOT NULL DEFAULT '',
	exchange TEXT NOT NULL DEFAULT '',
	cik      TEXT  NOT NULL DEFAULT ''
);
INSERT INTO answer_issuers VALUES (1, 'Tarnwick Foods plc', 'tarnwick foods plc', 'TRNF', '', '');
CREATE TABLE answer_aliases (
	alias_key TEXT  NOT NULL,
	issuer_id BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	alias     TEXT NOT NULL,
	PRIMARY KEY (alias_key, issuer_id)
) WITHOUT ROWID;
INSERT INTO answer_aliases VALUES ('tarnwick foods plc', 1, 'Tarnwick Foods plc');
CREATE TABLE answer_documents (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind         TEXT NOT NULL, -- filing, news, transcript, table, web
	form         TEXT NOT NULL DEFAULT '',
	issuer_id    BIGINT REFERENCES answer_issuers (id), -- NULL: no issuer, or several
	fiscal       INTEGER NOT NULL DEFAULT 0, -- the issuer's fiscal year
	quarter      SMALLINT NOT NULL DEFAULT 0,
	period_start TEXT NOT NULL DEFAULT '',
	period_end   TEXT NOT NULL DEFAULT '',
	published_at BIGINT NOT NULL DEFAULT 0,
	title        TEXT NOT NULL,
	url          TEXT  NOT NULL UNIQUE,
	lang         TEXT NOT NULL DEFAULT '',
	sha256       TEXT  NOT NULL UNIQUE,
	pages        INTEGER NOT NULL DEFAULT 0,
	chunks       INTEGER NOT NULL,
	ingested_at  BIGINT NOT NULL
);
INSERT INTO answer_documents VALUES (1, 'table', '', 1, 2025, 0, '', '', 0, 'Tarnwick Foods plc key figures', 'https://tarnwick.example/key-figures', '', '9965fbde2a32894205b66b1b9d4ce833622e621171d40aaa5d1040d5f0270d26', 1, 1, 1795875507428025);
INSERT INTO answer_documents VALUES (2, 'table', '', 1, 0, 0, '', '', 0, 'Tarnwick Foods plc share prices', 'https://tarnwick.example/prices', '', '6a018b4904f7eaeb6d2ed1a734bd7378b103350614bc44f08e188c76d862cec2', 1, 1, 1795875507434476);
INSERT INTO answer_documents VALUES (3, 'news', '', 1, 2025, 0, '', '', 1738800000000000, 'Tarnwick to close its Wadeford bakery', 'https://tarnwick.example/news/1', '', '76f8a31a4103da4d12f698e66828f7c134970655c5e458f19b071e1a41093952', 1, 1, 1795875507434476);
CREATE TABLE answer_copies (
	url         TEXT  NOT NULL PRIMARY KEY, -- never that of another document
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE answer_chunks (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	seq         INTEGER NOT NULL, -- from 0
	section     TEXT NOT NULL DEFAULT '',
	page        INTEGER NOT NULL DEFAULT 0,
	text        TEXT NOT NULL,
	tokens      INTEGER NOT NULL,
	is_table    SMALLINT NOT NULL DEFAULT 0,
	headers     TEXT NOT NULL DEFAULT '', -- caption, columns and rows of its tables
	UNIQUE (document_id, seq)
);
INSERT INTO answer_chunks VALUES (1, 1, 0, 'Tarnwick Foods plc key figures', 1, 'Tarnwick Foods plc key figures

| Key figures (in millions) | FY2023 | FY2024 | FY2025 |
|---|---|---|---|
| Revenue | 1,332.8 | 1,402.1 | 1,372.7 |
| Operating income | 219.9 | 232.7 | 232.0 |
| Net income | 156.2 | 163.6 | 167.2 |
| Total assets | 1,431.1 | 1,544.4 | 1,624.9 |
| Total shareholders'' equity | 755.9 | 869.4 | 979.7 |
| Number of employees | 5,936 | 5,815 | 5,636 |', 164, 1, 'Tarnwick Foods plc key figures
Key figures (in millions)
FY2023
FY2024
FY2025
Revenue
Operating income
Net income
Total assets
Total shareholders'' equity
Number of employees');
INSERT INTO answer_chunks VALUES (2, 2, 0, 'Share prices, Q1 2023', 1, '## Share prices, Q1 2023

| Day | Closing price | Opening price | Highest price | Lowest price | Volume |
|---|---|---|---|---|---|
| January 6, 2023 | 59.19 | 59.08 | 59.60 | 59.01 | 444000 |
| January 13, 2023 | 59.08 | 59.19 | 59.74 | 58.61 | 607300 |
| January 20, 2023 | 60.79 | 59.08 | 60.93 | 58.54 | 249000 |', 133, 1, 'Share prices, Q1 2023
Day
Closing price
Opening price
Highest price
Lowest price
Volume
January 6, 2023
January 13, 2023
January 20, 2023');
INSERT INTO answer_chunks VALUES (3, 3, 0, 'Tarnwick to close its Wadeford bakery', 0, '# Tarnwick to close its Wadeford bakery

Tarnwick Foods will close its bakery in Wadeford by the end of September 2025 and move production to Pennerton. 310 jobs are affected.', 41, 0, '');
CREATE TABLE answer_vectors (
	issuer_id   BIGINT NOT NULL,
	fiscal      INTEGER NOT NULL,
	chunk_id    BIGINT NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	kind        TEXT NOT NULL,
	terms       BLOB NOT NULL,
	PRIMARY KEY (issuer_id, fiscal, chunk_id)
) WITHOUT ROWID;
INSERT INTO answer_vectors VALUES (1, 0, 2, 2, 'table', X'002601000CA5BA110DE51C1129420F7429F8F21138DA1C013A52DA80444521F54C910B514F3BD9115073F4805EC41A11620F15016450D201710E83027354F0037360120180CC4C8088FB61018C402B338DDB4C01906350019261B601B0CB5311C9FC91D1CB3B0411EB2EE311F299F211FA016601FD206201');
INSERT INTO answer_vectors VALUES (1, 2025, 1, 1, 'table', X'002901010AEA4C01156009E215E1E4E21E876E0130CE9B0130E9F7013A52DAD14DF334115073F4D15C433C015CE00B015EBEB21169BF1B01719E251180CC4CD18A0A15018B80EE2293DE8E1193E0141193E1E61199917D119D27CA01A04EE211A8889E01AA844C01BFFC4311C6C55301D092F922D51B3811D670BB11D993E701E3A04711EA334701EA4B6601F5D09101FB837101FCD92901');
INSERT INTO answer_vectors VALUES (1, 2025, 3, 3, 'news', X'00120000293F670133BEBF014841C9014B000C015073F4015302700180CC4CC28E75C001AFE13D01B2671BC2C319E301CB3B04C2D42F0101DB02AEC2');
CREATE TABLE answer_dense (
	chunk_id    BIGINT NOT NULL,
	model       TEXT  NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	vector      BLOB NOT NULL,
	PRIMARY KEY (chunk_id, model)
) WITHOUT ROWID;
CREATE TABLE answer_embedders (
	model TEXT  NOT NULL PRIMARY KEY,
	mark  BLOB NOT NULL,
	since BIGINT NOT NULL -- Unix microseconds
);
CREATE TABLE answer_facts (
	issuer_id   BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	metric      TEXT  NOT NULL,
	period_end  TEXT  NOT NULL, -- a day, or a year if only that is known
	period_len  SMALLINT NOT NULL, -- in months; 0: a single day
	fiscal      INTEGER NOT NULL,
	quarter     SMALLINT NOT NULL DEFAULT 0,
	label       TEXT NOT NULL, -- the name of the metric in the document
	shown       TEXT NOT NULL, -- the number as it is written in the document
	value       DOUBLE PRECISION NOT NULL,
	step        DOUBLE PRECISION NOT NULL, -- one unit of the last digit that is shown
	unit        TEXT NOT NULL,
	currency    TEXT NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	chunk_id    BIGINT NOT NULL, -- the passage; 0: the document has no text
	-- Of which statement a fact is, and how sure it is, in per cent.
	statement   TEXT NOT NULL DEFAULT '',
	sure        SMALLINT NOT NULL DEFAULT 0,
	PRIMARY KEY (issuer_id, metric, period_end, period_len, document_id)
) WITHOUT ROWID;
CREATE TABLE answer_prices (
	issuer_id BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	day       TEXT  NOT NULL,
	open      DOUBLE PRECISION NOT NULL,
	high      DOUBLE PRECISION NOT NULL,
	low       DOUBLE PRECISION NOT NULL,
	close     DOUBLE PRECISION NOT NULL,
	adj_close DOUBLE PRECISION NOT NULL,
	volume    DOUBLE PRECISION NOT NULL,
	source    TEXT NOT NULL, -- the URL of the document
	PRIMARY KEY (issuer_id, day)
) WITHOUT ROWID;
INSERT INTO answer_prices VALUES (1, '2023-01-06', 59.08, 59.6, 59.01, 59.19, 59.19, 444000.0, 'https://tarnwick.example/prices');
INSERT INTO answer_prices VALUES (1, '2023-01-13', 59.19, 59.74, 58.61, 59.08, 59.08, 607300.0, 'https://tarnwick.example/prices');
INSERT INTO answer_prices VALUES (1, '2023-01-20', 59.08, 60.93, 58.54, 60.79, 60.79, 249000.0, 'https://tarnwick.example/prices');
CREATE TABLE answer_corpus (
	version BIGINT NOT NULL
);
INSERT INTO answer_corpus VALUES (3);
CREATE VIRTUAL TABLE answer_search USING fts5 (scope, title, section, text,
	content = '', contentless_delete = 1, detail = column, tokenize = 'porter unicode61');
CREATE TABLE answer_intake (
	source   TEXT  NOT NULL, -- watch:<folder>, or fetch
	name     TEXT  NOT NULL, -- the path of a file in its folder, or an address
	stamp    TEXT NOT NULL DEFAULT '', -- the size and time of a file
	etag     TEXT NOT NULL DEFAULT '',
	modified TEXT NOT NULL DEFAULT '', -- Last-Modified of an address
	failures INTEGER NOT NULL DEFAULT 0, -- in a row
	problem  TEXT NOT NULL DEFAULT '', -- the last one that was reported
	due      BIGINT NOT NULL DEFAULT 0, -- 0: when the file changes
	PRIMARY KEY (source, name)
) WITHOUT ROWID;
CREATE TABLE answer_intake_documents (
	source TEXT  NOT NULL,
	name   TEXT  NOT NULL,
	url    TEXT  NOT NULL,
	PRIMARY KEY (source, name, url)
) WITHOUT ROWID;
CREATE TABLE answer_accounts (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name        TEXT  NOT NULL UNIQUE,
	total_limit BIGINT NOT NULL, -- answers in a window of the quota
	created_at  BIGINT NOT NULL
);
INSERT INTO answer_accounts VALUES (1, 'desk', 1000, 1795875507579847);
CREATE TABLE answer_keys (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	label      TEXT NOT NULL,
	lookup     TEXT  NOT NULL UNIQUE,
	digest     TEXT  NOT NULL, -- SHA-256 of the secret
	services   TEXT NOT NULL, -- answer and quota, separated by spaces
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL DEFAULT 0, -- 0: never
	revoked_at BIGINT NOT NULL DEFAULT 0 -- 0: it is not
);
INSERT INTO answer_keys VALUES (1, 1, 'desk', '1NU9oex22lzpOVBJ', '61501945ec4f17790e4294bf5a855255297c78f365c6f0cb42a86d1e51d00398', 'answer quota', 1795875507579931, 0, 0);
CREATE TABLE answer_accepted (
	key_id BIGINT NOT NULL REFERENCES answer_keys (id) ON DELETE CASCADE,
	at     BIGINT NOT NULL,
	answer TEXT  NOT NULL,
	PRIMARY KEY (key_id, at, answer)
) WITHOUT ROWID;
INSERT INTO answer_accepted VALUES (1, 4161075507603953, 'ans_01M8H8B3CK0RKVKDR5BDNGRB58');
CREATE TABLE answer_windows (
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	began      BIGINT NOT NULL,
	ends       BIGINT NOT NULL,
	used       BIGINT NOT NULL DEFAULT 0,
	pending    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, began)
) WITHOUT ROWID;
INSERT INTO answer_windows VALUES (1, 4158691200000000, 4161283200000000, 1, 0);
CREATE TABLE answer_reservations (
	answer     TEXT  NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	began      BIGINT NOT NULL, -- the beginning of the window
	lease      BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE answer_answers (
	id         TEXT  NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	key_id     BIGINT NOT NULL,
	status     TEXT NOT NULL, -- pending, done, failed
	code       INTEGER NOT NULL DEFAULT 0, -- the HTTP status
	reason     TEXT NOT NULL DEFAULT '', -- why there is no answer
	body       TEXT NOT NULL DEFAULT '', -- the result, sealed if there is a keyring
	trace      TEXT NOT NULL DEFAULT '', -- sealed like the body
	once_key   TEXT  NULL, -- the Idempotency-Key
	once_hash  TEXT  NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
INSERT INTO answer_answers VALUES ('ans_01M8H8B3CK0RKVKDR5BDNGRB58', 1, 1, 'done', 200, '', 'sealed:aes1.4oVf228Lxsl16GYA4rB5rUlSrgTMBKBHX5tFLmd8__MZn-lfpBj264yLWIhHOdJrTpBYwIAzfFABZpauNMKikGGXwYAahxpPVMDgKymGs4WBV3ImIIExslqBFsL158EPQ3zH0mSILzClcriYRkndx7C77_PzolEQrkwLg5ehv049xip-i0IpcTx3vM_007RDCP6nbEczqDXZtNN0qXrhXRa1MnG-0qFYqc0WGwDWEmYfljDMs9FVEyJaC0ytNfFDL-YFDdwhw4gAezLd6Bk07fP0rijhPCkwyFLSft5sobaO1rQsMnU4oyTIW3FFOMboCS64H-RIe_5cX6CY4ZGmmH-wB5IxpipWtid911f0SPIsSZFPxzBga2pJoGM1pseIWwS_ZtjGbd3gCUyGYQX1fy82ZhsLljONHozAeoXIgFSvsIn2K1vs0YoN5cL74viinDcOg08dDKfDG_W97O1M8fMGgEdjGSHTT6qqLZpMAVvy_2qXyPo5dl-iziZyMH-sHnbIjtrnw426-uFp6oJm3WP9S4imzyvZTWbbdCcJ97jvcVfOPB4e-G2DNbk7-VRnAJtSVZPmRswto2RhOWxA_NfrmmRtgjnHIHqbqJpbY6F_naU8Yiz3hhYfFuPxFkwL8omVmZBLsjQWBjzyON9eBmHA64hCmVcQrUXcv2uKPr07wwU8tdVpRIxbEHN9Zv772w', 'sealed:aes1.4oVf2zDsEC__1sWgUUeg4HXS0qNefHsCGXVVKEUUnICvcMiHRZR3fxXMjbY_8GAUOS6-tKQThTPlnO3UjjgGRJNpjOgGNPqlAmT9cZB-ct2hww4MP5fpIQgXhMPvzSkGDuOSfkLBm3g8axYTdceEEhnCd1Ddmx3FfE_jl71DmAXEhO2IaUvLG7o1nC4Xh_fwE_RhVGxJXDLT-mZwBqsjL7JGQQUZmYQtoRgTDRhf6WgdhDIUNme2fPBTRTOc9hbAaNWMgEIA7UIJKvzyk4KipBwJRiWhvVQWUEHDp35II9fMsa5Qq7D4A1sXW0qDetsVT59E1IDCVUyQT8McKxCgSe3yRdr0fqOhuhYCWTxWC0EUDXzV5WWQ3PE_zwA8v8ZyY3aiq8Olr3YoQNWTWPFbh_DKF09Voqzx4SZdJqWBOyPxTsBAnvL5zlLnk0yCd813HfwBHdlYF7U2FBzNF9ZRiZWEniXfow4NhVl5DNMTuIMDnj2WBV_1K3QpWXjYSlaI6SW_9eSzQZVcFbRNgvdjS5wsJsa4LbeCLbEsRB9OYohIZAomKTbdn77I5chrwZnCYr2EhToluc_FiMJfHkYiAa2iWk_fVgNaTBshmxPejRhdgjKvXzAR5ROc4OQXqkY64-YZvm3gskbgcuAjxMPfUTEsvwL9Pm-FaoJK2WwWY6vJSkaqE9XE_IOkGamStUAtgmi7Te6ccYUCdKpA9F3Wsr3jUgKSsZi5FdpxR3LMHd4PMkmHVrUlJLjb1UYB2GVtcZR0ggHAqCgZSYlbZmelIuTPM9We7wz_XoUGgmmXsWpq_QzTbi7mysT2J3aLwjsBC2yRbv55XRcOmnGBcrqsFHpo2pp4E1O1wSzB100uULcinppK_Zd6rdqV8A', NULL, '', 4161075507603953);
CREATE TABLE answer_leases (
	name   TEXT NOT NULL PRIMARY KEY,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
CREATE TABLE board_polls (
	post_id    BIGINT NOT NULL PRIMARY KEY,
	question   TEXT   NOT NULL,
	choices    BIGINT NOT NULL,
	ends_at    BIGINT NOT NULL,
	hidden     BIGINT NOT NULL,
	changeable BIGINT NOT NULL,
	voters     BIGINT NOT NULL
);
CREATE TABLE board_poll_answers (
	post_id BIGINT NOT NULL,
	number  BIGINT NOT NULL,
	answer  TEXT   NOT NULL,
	votes   BIGINT NOT NULL,
	PRIMARY KEY (post_id, number)
);
CREATE TABLE board_poll_votes (
	post_id BIGINT NOT NULL,
	user_id BIGINT NOT NULL,
	number  BIGINT NOT NULL,
	PRIMARY KEY (post_id, user_id, number)
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
DELETE FROM cms_search_data;
INSERT INTO cms_search_data VALUES (1, X'0505');
INSERT INTO cms_search_data VALUES (10, X'00000001FF000001010506000501010101010000010201010202010101030101030300000104010104040000010501010505000001');
INSERT INTO cms_search_data VALUES (137438953473, X'0000000D0530726F6F7401020204');
INSERT INTO cms_search_data VALUES (274877906945, X'0000000D0530686F6D6502020204');
INSERT INTO cms_search_data VALUES (412316860417, X'000000170F3061646D696E697374726174696F6E03020204');
INSERT INTO cms_search_data VALUES (549755813889, X'0000000E0630757365727304020204');
INSERT INTO cms_search_data VALUES (687194767361, X'0000000E0630686F75736505020204');
INSERT INTO cms_search_data VALUES (9007474132647936, X'04000000000000010000000000000000000000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
DELETE FROM cms_search_idx;
INSERT INTO cms_search_idx VALUES (1, X'', 2);
INSERT INTO cms_search_idx VALUES (2, X'', 2);
INSERT INTO cms_search_idx VALUES (3, X'', 2);
INSERT INTO cms_search_idx VALUES (4, X'', 2);
INSERT INTO cms_search_idx VALUES (5, X'', 2);
DELETE FROM cms_search_docsize;
INSERT INTO cms_search_docsize VALUES (1, X'01', 1);
INSERT INTO cms_search_docsize VALUES (3, X'01', 3);
INSERT INTO cms_search_docsize VALUES (4, X'01', 4);
INSERT INTO cms_search_docsize VALUES (5, X'01', 5);
DELETE FROM cms_search_config;
INSERT INTO cms_search_config VALUES ('pgsz', 1000);
INSERT INTO cms_search_config VALUES ('version', 4);
DELETE FROM answer_search_data;
INSERT INTO answer_search_data VALUES (1, X'0305100F8112');
INSERT INTO answer_search_data VALUES (10, X'00000000FF0000010103030003010101010100000102010102020000010301010303000001');
INSERT INTO answer_search_data VALUES (137438953473, X'0000018E0230300102050101310102050202353601020502023633010205030137010205010132010205020231390102050202333201020501033333320102050202373201020501013401020502023032010205020233310102050101350102050202343401020501013601020502023234010205020233360102050101370102050202353501020501013801020502023135010205020236390102050101390102050202333601020502023739010205010561737365740102050107656D706C6F79650102050205717569746901020501056669677572010603030302036F6F640106030303020579323032330102050601340102050601350102050102693101020202016E0102050303636F6D01020501036B6569010603030301076D696C6C696F6E01020501036E65740102050205756D62657201020501026F6601020502037065720102050103706C6301060303030106726576656E7501020501097368617265686F6C6401020501087461726E7769636B010603030302046F74616C010205010579323032350102020406060707060607070807060707060706070706070607070607070A0C0A0C0A0A06060706080A0C080A07080A0B0E0F09');
INSERT INTO answer_search_data VALUES (274877906945, X'0000011003303031020205020138020205010231330202050201390202050102323002020503023233020404030205343930303002020501063434343030300202050102353402020502013802020502013902020501013602020502013002020503043733303002020502013102020501023734020205020139020205010239330202050105636C6F736502020501036461690202050104666F6F640202030107686967686573740202050102693102020201076A616E7561726902020501066C6F7765737402020501046F70656E0202050103706C630202030204726963650206030303010271310204040301057368617265020603030301087461726E7769636B0202030105766F6C756D020205040706070607080A0B070606060609060706070A08090C070C0B09080B080C0D');
INSERT INTO answer_search_data VALUES (412316860417, X'000000EE0530323032350302050103333130030205010661666665637403020502026E64030205020172030205010662616B65726903060303030201790302050105636C6F736503060303030103656E640302050104666F6F640302050102693103020202016E030205020174030603030301036A6F6203020501046D6F766503020501026F66030205010970656E6E6572746F6E0302050206726F64756374030205010773657074656D6203020501087461726E7769636B03060303030202686503020502016F0306030303010877616465666F726403060303030203696C6C030205010579323032350302020409080B07060D060C08090706080809070E0B0C0F07080F08');
DELETE FROM answer_search_idx;
INSERT INTO answer_search_idx VALUES (1, X'', 2);
INSERT INTO answer_search_idx VALUES (2, X'', 2);
INSERT INTO answer_search_idx VALUES (3, X'', 2);
DELETE FROM answer_search_docsize;
INSERT INTO answer_search_docsize VALUES (1, X'02050543', 1);
INSERT INTO answer_search_docsize VALUES (2, X'01050432', 2);
INSERT INTO answer_search_docsize VALUES (3, X'0206061D', 3);
DELETE FROM answer_search_config;
INSERT INTO answer_search_config VALUES ('version', 4);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('schema_keyring', 2);
INSERT INTO sqlite_sequence VALUES ('schema_board', 3);
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
INSERT INTO sqlite_sequence VALUES ('schema_authserver', 2);
INSERT INTO sqlite_sequence VALUES ('schema_cms_blob', 2);
INSERT INTO sqlite_sequence VALUES ('schema_cms_webhook', 2);
INSERT INTO sqlite_sequence VALUES ('schema_cms_jobs', 2);
INSERT INTO sqlite_sequence VALUES ('schema_cms', 2);
INSERT INTO sqlite_sequence VALUES ('schema_answer', 2);
INSERT INTO sqlite_sequence VALUES ('cms_users', 2);
INSERT INTO sqlite_sequence VALUES ('cms_roles', 2);
INSERT INTO sqlite_sequence VALUES ('cms_fields', 1);
INSERT INTO sqlite_sequence VALUES ('cms_templates', 4);
INSERT INTO sqlite_sequence VALUES ('cms_pages', 4);
INSERT INTO sqlite_sequence VALUES ('cms_page_values', 5);
INSERT INTO sqlite_sequence VALUES ('cms_webhook_deliveries', 0);
INSERT INTO sqlite_sequence VALUES ('authserver_audit', 5);
INSERT INTO sqlite_sequence VALUES ('authserver_sessions', 1);
INSERT INTO sqlite_sequence VALUES ('authserver_issuances', 1);
INSERT INTO sqlite_sequence VALUES ('cms_webhooks', 1);
INSERT INTO sqlite_sequence VALUES ('answer_issuers', 1);
INSERT INTO sqlite_sequence VALUES ('answer_documents', 3);
INSERT INTO sqlite_sequence VALUES ('answer_chunks', 3);
INSERT INTO sqlite_sequence VALUES ('answer_accounts', 1);
INSERT INTO sqlite_sequence VALUES ('answer_keys', 1);
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
CREATE INDEX authserver_clients_issued ON authserver_clients (issued_at, id);
CREATE INDEX authserver_clients_documents ON authserver_clients (fresh_until) WHERE source = 'cimd';
CREATE INDEX authserver_clients_seen ON authserver_clients (seen_at, issued_at) WHERE source = 'dcr' AND status = 'active';
CREATE INDEX authserver_clients_status ON authserver_clients (status, issued_at, id) WHERE status <> 'active';
CREATE INDEX authserver_clients_source ON authserver_clients (source, issued_at, id);
CREATE INDEX authserver_clients_agents ON authserver_clients (issued_at, id) WHERE agent = 1;
CREATE INDEX authserver_users_created ON authserver_users (created_at, id);
CREATE UNIQUE INDEX authserver_users_upstream ON authserver_users (issuer, subject) WHERE subject <> '';
CREATE INDEX authserver_users_pending ON authserver_users (created_at) WHERE status = 'pending';
CREATE INDEX authserver_users_delete ON authserver_users (delete_at) WHERE delete_at IS NOT NULL;
CREATE INDEX authserver_identities_user ON authserver_identities (user_id, id);
CREATE INDEX authserver_factors_user ON authserver_factors (user_id, created_at);
CREATE UNIQUE INDEX authserver_factors_handle ON authserver_factors (handle) WHERE handle <> '';
CREATE INDEX authserver_attempts_ends ON authserver_attempts (ends_at);
CREATE INDEX authserver_links_user ON authserver_links (user_id);
CREATE INDEX authserver_links_due ON authserver_links (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX authserver_links_expires ON authserver_links (expires_at);
CREATE INDEX authserver_sessions_user ON authserver_sessions (user_id, id);
CREATE INDEX authserver_sessions_seen ON authserver_sessions (seen_at);
CREATE INDEX authserver_session_clients_due ON authserver_session_clients (due_at, id) WHERE session_id IS NULL;
CREATE INDEX authserver_consents_client ON authserver_consents (client_id);
CREATE INDEX authserver_consents_resource ON authserver_consents (resource_id);
CREATE INDEX authserver_codes_expires ON authserver_codes (expires_at);
CREATE INDEX authserver_pushed_expires ON authserver_pushed (expires_at);
CREATE INDEX authserver_devices_expires ON authserver_devices (expires_at);
CREATE INDEX authserver_once_expires ON authserver_once (expires_at);
CREATE INDEX authserver_families_user ON authserver_families (user_id);
CREATE INDEX authserver_families_client ON authserver_families (client_id);
CREATE INDEX authserver_families_expires ON authserver_families (expires_at);
CREATE INDEX authserver_issuances_client ON authserver_issuances (client_id, id);
CREATE INDEX authserver_issuances_user ON authserver_issuances (user_id, id) WHERE user_id <> '';
CREATE INDEX authserver_issuances_parent ON authserver_issuances (parent_jti) WHERE parent_jti <> '';
CREATE INDEX authserver_denied_at ON authserver_denied (at);
CREATE INDEX authserver_xaa_policies_idp ON authserver_xaa_policies (idp_id);
CREATE INDEX authserver_xaa_subjects_user ON authserver_xaa_subjects (user_id);
CREATE INDEX authserver_xaa_subjects_created ON authserver_xaa_subjects (created_at, id);
CREATE INDEX authserver_xaa_subjects_idp ON authserver_xaa_subjects (idp_id, created_at, id);
CREATE INDEX authserver_connections_provider ON authserver_connections (provider_id);
CREATE INDEX authserver_connecting_expires ON authserver_connecting (expires_at);
CREATE INDEX authserver_audit_created ON authserver_audit (created_at, id);
CREATE INDEX authserver_audit_actor ON authserver_audit (actor_id, created_at, id) WHERE actor_id <> '';
CREATE INDEX authserver_audit_client ON authserver_audit (client_id, created_at, id) WHERE client_id <> '';
CREATE INDEX authserver_audit_action ON authserver_audit (action, created_at, id);
CREATE INDEX cms_webhook_deliveries_due ON cms_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX cms_webhook_deliveries_webhook ON cms_webhook_deliveries (webhook_id);
CREATE INDEX cms_webhook_deliveries_age ON cms_webhook_deliveries (created_at);
CREATE INDEX cms_users_status ON cms_users (status, name);
CREATE INDEX cms_users_status_id ON cms_users (status, id);
CREATE INDEX cms_user_roles_users ON cms_user_roles (role_id, user_id);
CREATE INDEX cms_sessions_user ON cms_sessions (user_id, id);
CREATE INDEX cms_sessions_seen ON cms_sessions (seen_at);
CREATE INDEX cms_revoked_tokens_ends ON cms_revoked_tokens (ends_at);
CREATE INDEX cms_refresh_tokens_family ON cms_refresh_tokens (family);
CREATE INDEX cms_refresh_tokens_user ON cms_refresh_tokens (user_id);
CREATE INDEX cms_refresh_tokens_ends ON cms_refresh_tokens (ends_at);
CREATE INDEX cms_attempts_ends ON cms_attempts (ends_at);
CREATE INDEX cms_template_fields_field ON cms_template_fields (field_id);
CREATE INDEX cms_pages_sort ON cms_pages (parent_id, sort, id);
CREATE INDEX cms_pages_template_created ON cms_pages (template_id, created, id) WHERE status = 0;
CREATE INDEX cms_pages_template_modified ON cms_pages (template_id, modified, id) WHERE status = 0;
CREATE INDEX cms_pages_template ON cms_pages (template_id, id);
CREATE INDEX cms_pages_created ON cms_pages (created, id) WHERE status = 0;
CREATE INDEX cms_pages_modified ON cms_pages (modified, id) WHERE status = 0;
CREATE INDEX cms_pages_name ON cms_pages (name);
CREATE INDEX cms_pages_publish ON cms_pages (publish_at) WHERE publish_at IS NOT NULL;
CREATE INDEX cms_pages_unpublish ON cms_pages (unpublish_at) WHERE unpublish_at IS NOT NULL;
CREATE INDEX cms_pages_trash ON cms_pages (trash_root) WHERE trash_root IS NOT NULL;
CREATE INDEX cms_page_values_text ON cms_page_values (field_id, text, page_id) WHERE text IS NOT NULL;
CREATE INDEX cms_page_values_num ON cms_page_values (field_id, num, page_id) WHERE num IS NOT NULL;
CREATE INDEX cms_page_values_page ON cms_page_values (page_id, field_id, n);
CREATE INDEX cms_page_ancestors_page ON cms_page_ancestors (page_id, ancestor_id);
CREATE INDEX cms_page_redirects_page ON cms_page_redirects (page_id);
CREATE INDEX cms_files_page ON cms_files (page_id);
CREATE INDEX cms_files_hash ON cms_files (hash);
CREATE INDEX answer_aliases_issuer ON answer_aliases (issuer_id);
CREATE INDEX answer_documents_issuer ON answer_documents (issuer_id, fiscal, id);
CREATE INDEX answer_copies_document ON answer_copies (document_id, url);
CREATE INDEX answer_vectors_document ON answer_vectors (document_id);
CREATE UNIQUE INDEX answer_vectors_chunk ON answer_vectors (chunk_id);
CREATE INDEX answer_dense_document ON answer_dense (document_id);
CREATE INDEX answer_facts_document ON answer_facts (document_id);
CREATE INDEX answer_intake_documents_url ON answer_intake_documents (url);
CREATE INDEX answer_keys_account ON answer_keys (account_id, id);
CREATE INDEX answer_reservations_lease ON answer_reservations (account_id, lease);
CREATE UNIQUE INDEX answer_answers_once ON answer_answers (account_id, once_key);
CREATE INDEX answer_answers_age ON answer_answers (created_at);
CREATE INDEX board_poll_votes_user ON board_poll_votes (user_id);
COMMIT;
