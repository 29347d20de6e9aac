-- root: brd_pat_hxcefzxdq5_hwcCNNJTNt7EzuC4cNWq7B6T0LW57rLEJjsT28CElmE
-- ada: brd_pat_4nay7mcnjv_NAdkbtWr7YFhi_rSamdRr7y2S-W1DMO9uVOllF3iftQ
-- bob: brd_pat_5oefvhjgub_86GRD2dvAUsn-HbmBBnrWN6NJO7psIPSKdOQlTx_fHs
-- once: 6
-- gateway_key: ak-hNLTYJqzVoGjU1OhZzY7ewlTiL45M2NBej6gm2cT

BEGIN;
CREATE TABLE schema_board (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
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
, password_once INTEGER NOT NULL DEFAULT 0, time_zone TEXT NOT NULL DEFAULT 'UTC', email_confirmed INTEGER NOT NULL DEFAULT 0, email_asked TEXT NOT NULL DEFAULT '');
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
CREATE TABLE board_post_ids (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_id   INTEGER NOT NULL REFERENCES board_threads (id),
	forum_id    INTEGER NOT NULL REFERENCES board_forums (id),
	author_id   INTEGER REFERENCES board_users (id),
	visibility  INTEGER  NOT NULL,
	held_reason TEXT,
	created_at  INTEGER NOT NULL
);
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
	closed_at  INTEGER, closed_by BIGINT, note TEXT,
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
CREATE TABLE board_permission_version (
	version INTEGER NOT NULL
);
CREATE VIRTUAL TABLE board_search USING fts5 (title, message, content = '', contentless_delete = 1, tokenize = 'unicode61');
CREATE TABLE board_sessions (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	secret_hash  TEXT    NOT NULL UNIQUE,  -- SHA-256 of the cookie, hex
	user_id      INTEGER NOT NULL REFERENCES board_users (id),
	created_at   INTEGER NOT NULL,
	seen_at      INTEGER NOT NULL,
	confirmed_at INTEGER NOT NULL          -- when the password was given last
);
CREATE TABLE board_attempts (
	key     TEXT    NOT NULL PRIMARY KEY,    -- a hash
	tries   INTEGER NOT NULL,
	ends_at INTEGER NOT NULL                 -- when the count starts anew
);
CREATE TABLE board_webhooks (
	id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url             TEXT    NOT NULL,
	topics          TEXT    NOT NULL,             -- words, each between spaces: ' post.created post.held '
	secret          TEXT    NOT NULL,             -- sealed
	enabled         INTEGER NOT NULL DEFAULT 1,
	disabled_reason TEXT    NOT NULL DEFAULT '',
	created_by      TEXT    NOT NULL,
	created_at      INTEGER NOT NULL
);
CREATE TABLE board_webhook_deliveries (
	id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	webhook_id   INTEGER NOT NULL REFERENCES board_webhooks (id) ON DELETE CASCADE,
	event        TEXT    NOT NULL,                -- the same for all webhooks that are told
	topic        TEXT    NOT NULL,
	body         TEXT    NOT NULL,
	state        TEXT    NOT NULL DEFAULT 'pending',  -- pending, delivered or failed
	attempts     INTEGER NOT NULL DEFAULT 0,
	next_at      INTEGER,                         -- NULL: no more attempts
	leased_until INTEGER NOT NULL DEFAULT 0,      -- a node is at it
	answer       TEXT    NOT NULL DEFAULT '',     -- of the last attempt
	created_at   INTEGER NOT NULL,
	tried_at     INTEGER
);
CREATE TABLE board_mails (
	id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id       INTEGER NOT NULL REFERENCES board_users (id),
	mode          TEXT    NOT NULL,               -- instant, daily or weekly
	source        TEXT    NOT NULL,               -- thread or forum: what the member follows
	thread_id     INTEGER NOT NULL,
	first_post_id INTEGER NOT NULL,
	last_post_id  INTEGER NOT NULL,
	due_at        INTEGER NOT NULL,
	attempts      INTEGER NOT NULL DEFAULT 0,
	leased_until  INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	UNIQUE (user_id, mode, thread_id)
);
CREATE TABLE board_attachments (
	id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_id  INTEGER NOT NULL,
	post_id    INTEGER NOT NULL REFERENCES board_post_ids (id),
	user_id    INTEGER NOT NULL REFERENCES board_users (id),
	name       TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	sha256     TEXT    NOT NULL,  -- hex; names the content
	width      INTEGER,           -- of an image
	height     INTEGER,
	created_at INTEGER NOT NULL,
	removed_at INTEGER            -- it counts for the member while its content may still be there
, stripped INTEGER NOT NULL DEFAULT 0);
CREATE TABLE board_contents (
	sha256    TEXT    NOT NULL,
	part      INTEGER NOT NULL,
	data      BLOB    NOT NULL,
	stored_at INTEGER NOT NULL,
	PRIMARY KEY (sha256, part)
);
CREATE TABLE board_posts_archive (
	thread_id      INTEGER NOT NULL REFERENCES board_threads (id),
	id             INTEGER NOT NULL PRIMARY KEY REFERENCES board_post_ids (id),
	number         INTEGER NOT NULL,
	author_id      INTEGER REFERENCES board_users (id),
	author_name    TEXT    NOT NULL,
	visibility     INTEGER NOT NULL,
	message        TEXT    NOT NULL,
	message_html   TEXT    NOT NULL,
	render_version INTEGER NOT NULL,
	body_hash      TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	edited_at      INTEGER,
	edited_by      TEXT,
	edit_reason    TEXT,
	edit_count     INTEGER NOT NULL
);
CREATE TABLE board_seeds (
	fixture TEXT    NOT NULL,  -- digest of its beginning
	part    TEXT    NOT NULL,
	done    INTEGER NOT NULL,  -- elements
	PRIMARY KEY (fixture, part)
);
CREATE TABLE board_links (
	id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind        TEXT    NOT NULL,          -- reset, email, or notice, which has no link
	user_id     INTEGER NOT NULL REFERENCES board_users (id),
	email       TEXT    NOT NULL,          -- where the mail goes
	secret_hash TEXT    UNIQUE,            -- SHA-256 of the secret, hex; NULL: not sent yet
	expires_at  INTEGER NOT NULL
);
CREATE TABLE board_names (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	skeleton TEXT    NOT NULL,
	clashes  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, skeleton)
) WITHOUT ROWID;
CREATE TABLE board_member_posts (
	user_id  INTEGER NOT NULL REFERENCES board_users (id),
	forum_id INTEGER NOT NULL,
	posts    INTEGER NOT NULL,
	PRIMARY KEY (user_id, forum_id)
) WITHOUT ROWID;
CREATE TABLE board_forum_counts (
	forum_id INTEGER NOT NULL REFERENCES board_forums (id) ON DELETE CASCADE,
	slot     INTEGER NOT NULL,
	threads  INTEGER NOT NULL,
	posts    INTEGER NOT NULL,
	PRIMARY KEY (forum_id, slot)
) WITHOUT ROWID;
CREATE TABLE schema_gateway (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE gateway_users (
	id         TEXT   NOT NULL PRIMARY KEY,
	created_at BIGINT NOT NULL
);
CREATE TABLE gateway_keys (
	id                    TEXT     NOT NULL PRIMARY KEY,
	user_id               TEXT     NOT NULL REFERENCES gateway_users (id),
	hash                  TEXT     NOT NULL UNIQUE, -- SHA-256 of the key, hex
	masked                TEXT     NOT NULL,
	label                 TEXT     NOT NULL,
	is_primary            SMALLINT NOT NULL,
	rate_limit_per_minute BIGINT,                   -- NULL: unlimited
	effort_mode           TEXT     NOT NULL,
	created_at            BIGINT   NOT NULL,
	revoked_at            BIGINT,
	last_used_at          BIGINT
, expires_at BIGINT, allowed_models TEXT, tokens_per_day BIGINT, tokens_per_month BIGINT, micro_usd_per_day BIGINT, micro_usd_per_month BIGINT);
CREATE TABLE gateway_provider_keys (
	id         TEXT   NOT NULL PRIMARY KEY,
	user_id    TEXT   NOT NULL REFERENCES gateway_users (id),
	provider   TEXT   NOT NULL,
	label      TEXT   NOT NULL,
	sealed     TEXT   NOT NULL,
	masked     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE TABLE gateway_models (
	id          TEXT     NOT NULL PRIMARY KEY,
	user_id     TEXT     NOT NULL REFERENCES gateway_users (id),
	model_entry TEXT     NOT NULL,  -- provider/model, as clients name it
	is_custom   SMALLINT NOT NULL,
	enabled     SMALLINT NOT NULL,
	priority    BIGINT,             -- lower is tried earlier; NULL: the catalog's order
	tier        TEXT,               -- custom: low, medium or high
	base_url    TEXT,               -- custom
	model       TEXT,               -- custom: the upstream's name
	sealed      TEXT,               -- custom: its key, when it needs one
	created_at  BIGINT   NOT NULL,
	UNIQUE (user_id, model_entry)
);
CREATE TABLE gateway_preferences (
	user_id             TEXT NOT NULL PRIMARY KEY REFERENCES gateway_users (id),
	preferred_providers TEXT NOT NULL, -- JSON arrays of text
	excluded_providers  TEXT NOT NULL,
	excluded_models     TEXT NOT NULL
);
CREATE TABLE gateway_usage_records (
	id      INTEGER PRIMARY KEY,
	at      BIGINT  NOT NULL ON CONFLICT FAIL, -- Unix microseconds of the request's start
	user_id TEXT    NOT NULL ON CONFLICT FAIL,
	record  TEXT    NOT NULL ON CONFLICT FAIL
);
CREATE TABLE gateway_usage_hours (
	user_id          TEXT   NOT NULL,
	hour             BIGINT NOT NULL, -- Unix hours
	key_id           TEXT   NOT NULL,
	provider         TEXT   NOT NULL, -- empty: nobody answered
	model            TEXT   NOT NULL,
	tier             TEXT   NOT NULL,
	requests         BIGINT NOT NULL,
	succeeded        BIGINT NOT NULL,
	failed           BIGINT NOT NULL,
	cancelled        BIGINT NOT NULL, -- the client left
	failed_attempts  BIGINT NOT NULL,
	input_tokens     BIGINT NOT NULL,
	cached_tokens    BIGINT NOT NULL,
	output_tokens    BIGINT NOT NULL,
	reasoning_tokens BIGINT NOT NULL,
	cost_micro_usd   BIGINT NOT NULL,
	unpriced         BIGINT NOT NULL, -- answered requests whose price is not known
	latency_us       BIGINT NOT NULL,
	first_token_us   BIGINT NOT NULL,
	first_tokens     BIGINT NOT NULL, -- requests in first_token_us
	PRIMARY KEY (user_id, hour, key_id, provider, model, tier)
) WITHOUT ROWID;
CREATE TABLE gateway_usage_days (
	user_id          TEXT   NOT NULL,
	day              BIGINT NOT NULL, -- Unix days
	key_id           TEXT   NOT NULL,
	provider         TEXT   NOT NULL,
	model            TEXT   NOT NULL,
	tier             TEXT   NOT NULL,
	requests         BIGINT NOT NULL,
	succeeded        BIGINT NOT NULL,
	failed           BIGINT NOT NULL,
	cancelled        BIGINT NOT NULL,
	failed_attempts  BIGINT NOT NULL,
	input_tokens     BIGINT NOT NULL,
	cached_tokens    BIGINT NOT NULL,
	output_tokens    BIGINT NOT NULL,
	reasoning_tokens BIGINT NOT NULL,
	cost_micro_usd   BIGINT NOT NULL,
	unpriced         BIGINT NOT NULL,
	latency_us       BIGINT NOT NULL,
	first_token_us   BIGINT NOT NULL,
	first_tokens     BIGINT NOT NULL,
	PRIMARY KEY (user_id, day, key_id, provider, model, tier)
) WITHOUT ROWID;
CREATE TABLE gateway_usage_writers (
	writer  TEXT   NOT NULL PRIMARY KEY,
	records BIGINT NOT NULL, -- it has written
	at      BIGINT NOT NULL
);
CREATE TABLE gateway_sweeps (
	name   TEXT   NOT NULL PRIMARY KEY,
	holder TEXT   NOT NULL,
	until  BIGINT NOT NULL -- Unix microseconds
);
CREATE TABLE schema_keyring (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE keyring_checks (
	service TEXT NOT NULL PRIMARY KEY,
	sealed  TEXT NOT NULL
);
CREATE TABLE schema_events (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE run_nodes (
	id               INTEGER PRIMARY KEY AUTOINCREMENT, -- names the node in the other tables
	certname         TEXT   NOT NULL UNIQUE,
	latest_report    BIGINT,                   -- run_reports.id of the run with the greatest producer_timestamp, plans aside; NULL: none is kept
	latest_timestamp BIGINT,                   -- its producer_timestamp, kept when the report is purged; NULL: never reported
	deactivated_at   BIGINT,                   -- producer_timestamp of the command; NULL: not deactivated
	expired_at       BIGINT                    -- when it was found silent for too long; NULL: not expired
);
CREATE TABLE run_environments (
	id   INTEGER PRIMARY KEY, -- run_reports.environment
	name TEXT   NOT NULL UNIQUE
);
CREATE TABLE run_producers (
	id   INTEGER PRIMARY KEY, -- run_reports.producer
	name TEXT   NOT NULL UNIQUE
);
CREATE TABLE run_words (
	id   INTEGER PRIMARY KEY, -- the columns said to be a word
	name TEXT   NOT NULL UNIQUE
);
CREATE TABLE run_reports (
	id                    INTEGER PRIMARY KEY AUTOINCREMENT, -- names the report in the other tables, ascending by arrival
	hash                  BLOB   NOT NULL UNIQUE, -- the report id, SHA-1, 20 bytes
	node                  BIGINT   NOT NULL, -- run_nodes.id
	environment           BIGINT   NOT NULL, -- run_environments.id
	status                BIGINT,            -- word; NULL: sent as null
	type                  BIGINT   NOT NULL, -- word: 5 agent, 6 plan
	noop                  SMALLINT,          -- NULL: sent as null, as the next two
	noop_pending          SMALLINT,
	corrective_change     SMALLINT,          -- as sent; shown only when the service is told to
	puppet_version        BIGINT   NOT NULL, -- word
	report_format         BIGINT   NOT NULL,
	configuration_version TEXT   NOT NULL,
	start_time            BIGINT   NOT NULL,
	end_time              BIGINT   NOT NULL,
	producer_timestamp    BIGINT   NOT NULL,
	receive_time          BIGINT   NOT NULL, -- the server's clock at submission
	producer              BIGINT,            -- run_producers.id; NULL: none
	transaction_uuid      TEXT,            -- as sent; NULL: none, as the next four
	catalog_uuid          TEXT,
	code_id               BIGINT,            -- word
	job_id                TEXT,
	cached_catalog_status BIGINT             -- word
);
CREATE TABLE run_report_details (
	at      BIGINT NOT NULL, -- producer_timestamp of the report
	report  BIGINT NOT NULL, -- run_reports.id
	logs    BLOB NOT NULL,
	metrics BLOB NOT NULL,
	PRIMARY KEY (at, report)
) WITHOUT ROWID;
CREATE TABLE run_resources (
	id               INTEGER PRIMARY KEY AUTOINCREMENT, -- run_events.resource
	hash             BLOB   NOT NULL UNIQUE, -- 16 bytes of the SHA-256 over the next six
	type             TEXT   NOT NULL,
	title            TEXT   NOT NULL,
	file             TEXT,            -- NULL: no source position
	line             BIGINT,            -- NULL: no source position
	containing_class TEXT,            -- NULL: no class in the path
	containment_path TEXT,            -- JSON array of text, compact; NULL: sent as null
	used_day         BIGINT   NOT NULL  -- Unix day of the youngest event that names it; older rows are swept
);
CREATE TABLE run_changes (
	id        INTEGER PRIMARY KEY AUTOINCREMENT, -- run_events.change
	hash      BLOB   NOT NULL UNIQUE, -- 16 bytes of the SHA-256 over the next five
	property  TEXT,            -- NULL: refreshed, failed as a whole, skipped
	name      TEXT,            -- NULL: skipped, or sent as null
	old_value TEXT,            -- NULL: skipped
	new_value TEXT,            -- NULL: skipped
	message   TEXT,            -- NULL: skipped, or sent as null
	used_day  BIGINT   NOT NULL  -- as in run_resources
);
CREATE TABLE run_events (
	at                BIGINT   NOT NULL, -- timestamp of the event
	report            BIGINT   NOT NULL, -- run_reports.id; goes before its report
	seq               BIGINT   NOT NULL, -- place in the report
	node              BIGINT   NOT NULL, -- run_nodes.id, the report's
	resource          BIGINT   NOT NULL, -- run_resources.id
	change            BIGINT   NOT NULL, -- run_changes.id
	status            BIGINT   NOT NULL, -- word: 1 success, 2 failure, 3 noop, 4 skipped, or another
	corrective_change SMALLINT,          -- as sent; shown only when the service is told to
	PRIMARY KEY (at, report, seq)
) WITHOUT ROWID;
CREATE TABLE run_rejected (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	at       BIGINT   NOT NULL, -- when it failed last
	command  TEXT   NOT NULL,
	version  BIGINT   NOT NULL,
	certname TEXT   NOT NULL, -- of the query parameter
	reason   TEXT   NOT NULL,
	attempts BIGINT   NOT NULL,
	payload  BLOB   NOT NULL  -- compressed with DEFLATE
);
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- of the process that counted
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
) WITHOUT ROWID;
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
) WITHOUT ROWID;
INSERT INTO schema_board VALUES (1, 0, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (2, 1, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (3, 2, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (4, 3, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (5, 4, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (6, 5, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (7, 6, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (8, 7, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (9, 8, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (10, 9, 1, '2026-11-22 19:59:21');
INSERT INTO schema_board VALUES (11, 10, 1, '2026-11-22 19:59:21');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('schema_board', 11);
INSERT INTO sqlite_sequence VALUES ('board_groups', 4);
INSERT INTO sqlite_sequence VALUES ('board_forums', 3);
INSERT INTO sqlite_sequence VALUES ('board_users', 3);
INSERT INTO sqlite_sequence VALUES ('board_prefixes', 1);
INSERT INTO sqlite_sequence VALUES ('board_threads', 2);
INSERT INTO sqlite_sequence VALUES ('board_post_ids', 7);
INSERT INTO sqlite_sequence VALUES ('board_api_tokens', 3);
INSERT INTO sqlite_sequence VALUES ('schema_gateway', 7);
INSERT INTO sqlite_sequence VALUES ('schema_keyring', 2);
INSERT INTO sqlite_sequence VALUES ('schema_events', 5);
INSERT INTO sqlite_sequence VALUES ('board_notifications', 2);
INSERT INTO sqlite_sequence VALUES ('board_mails', 3);
INSERT INTO sqlite_sequence VALUES ('board_webhook_deliveries', 1);
INSERT INTO sqlite_sequence VALUES ('board_moderation_log', 2);
INSERT INTO sqlite_sequence VALUES ('board_attachments', 1);
INSERT INTO sqlite_sequence VALUES ('board_reports', 1);
INSERT INTO sqlite_sequence VALUES ('board_sessions', 2);
INSERT INTO sqlite_sequence VALUES ('board_webhooks', 1);
INSERT INTO sqlite_sequence VALUES ('board_links', 1);
INSERT INTO sqlite_sequence VALUES ('run_nodes', 4);
INSERT INTO sqlite_sequence VALUES ('run_reports', 3);
INSERT INTO sqlite_sequence VALUES ('run_resources', 2);
INSERT INTO sqlite_sequence VALUES ('run_changes', 2);
INSERT INTO sqlite_sequence VALUES ('run_rejected', 1);
INSERT INTO board_users VALUES (1, 'root', 'root', 'root@example.com', 'root@example.com', '$argon2id$v=19$m=19456,t=2,p=1$a3WWGMyLqN8i8Nw1Vt9DmA$GWv1RBDK1pV6DPEKPqUuon9ySgM0/D4nOMxHH+lZb5I', 'active', NULL, NULL, 0, 0, 1795377561184521, 1795377561657549, NULL, '', '', 0, 0, 0, 0, 0, 'UTC', 1, '');
INSERT INTO board_users VALUES (2, 'ada', 'ada', 'ada@example.com', 'ada@example.com', '$argon2id$v=19$m=19456,t=2,p=1$0b/hII3Mm03CcmQYLz7dxQ$/MD2ti73R2S5H/iWaF7GiqDxnEOw9ZYz1Ayen4tmXzU', 'active', NULL, NULL, 0, 12, 1795377561241781, 1795377561758714, 1767225840000000, '', '', 0, 0, 0, 0, 0, 'UTC', 1, '');
INSERT INTO board_users VALUES (3, 'bob', 'bob', 'bob@example.com', 'bob@example.com', '$argon2id$v=19$m=19456,t=2,p=1$yukQW9h+TQm34T36Y5U5hQ$RVz9ipbcWf2A34VZjeECldq3AkBED2CY7lA2jnOpdDA', 'active', NULL, NULL, 0, 13, 1795377561276878, NULL, 1795377561761319, '', '', 0, 0, 0, 0, 0, 'UTC', 1, '');
INSERT INTO board_groups VALUES (1, 'guest', 'guest', 137439739911, 0, 1440, 0);
INSERT INTO board_groups VALUES (2, 'registered', 'registered', 1030794117311, 0, 1440, 0);
INSERT INTO board_groups VALUES (3, 'moderators', 'staff', 3294242013183, 0, 0, 0);
INSERT INTO board_groups VALUES (4, 'administrators', 'staff', 4393753640959, 0, 0, 0);
INSERT INTO board_user_groups VALUES (1, 2);
INSERT INTO board_user_groups VALUES (1, 4);
INSERT INTO board_user_groups VALUES (2, 2);
INSERT INTO board_user_groups VALUES (3, 2);
INSERT INTO board_forums VALUES (1, NULL, '/1', 0, 1, 'category', 'General', 'general', '', NULL, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL);
INSERT INTO board_forums VALUES (2, 1, '/1/2', 1, 1, 'forum', 'Discussion', 'discussion', '', NULL, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, 1, 2, NULL, NULL, NULL);
INSERT INTO board_forums VALUES (3, 1, '/1/3', 1, 2, 'forum', 'Private', 'private', '', NULL, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, 1, 1, NULL, NULL, NULL);
INSERT INTO board_forum_overrides VALUES (3, 1, 0, 1);
INSERT INTO board_prefixes VALUES (1, 'Question', 0);
INSERT INTO board_prefix_forums VALUES (3, 1);
INSERT INTO board_threads VALUES (1, 2, 'A thread', 'a-thread', 2, 'ada', NULL, 0, 0, 0, 3, 1, 1, 7, 'bob', 1767225600000000, 1795377561761319, 7);
INSERT INTO board_threads VALUES (2, 3, 'Another', 'another', 2, 'ada', 1, 0, 0, 0, 0, 0, 5, 5, 'ada', 1767225840000000, 1767225840000000, 2);
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
INSERT INTO board_post_ids VALUES (1, 1, 2, 2, 0, NULL, 1767225600000000);
INSERT INTO board_post_ids VALUES (2, 1, 2, 3, 0, NULL, 1767225660000000);
INSERT INTO board_post_ids VALUES (3, 1, 2, 3, 1, 'seeded', 1767225720000000);
INSERT INTO board_post_ids VALUES (4, 1, 2, 3, 2, NULL, 1767225780000000);
INSERT INTO board_post_ids VALUES (5, 2, 3, 2, 0, NULL, 1767225840000000);
INSERT INTO board_post_ids VALUES (6, 1, 2, 3, 0, NULL, 1795377561614337);
INSERT INTO board_post_ids VALUES (7, 1, 2, 3, 0, NULL, 1795377561761319);
INSERT INTO board_post_revisions VALUES (2, 1, 'an answer', 'root', 1795377561616828, 'a mistake');
INSERT INTO board_subscriptions VALUES (2, 'thread', 1, 'instant', 1795377561612705, 0);
INSERT INTO board_notifications VALUES (1, 2, 'reply', 1, 6, 'bob', 4130596761614818, NULL);
INSERT INTO board_notifications VALUES (2, 2, 'reply', 1, 7, 'bob', 4130596761761482, NULL);
INSERT INTO board_thread_reads VALUES (3, 1, 7, 4130596761761772);
INSERT INTO board_api_tokens VALUES (1, 1, 'root', 'hxcefzxdq5', '45216f4d53c982c9cfa0c4fa7beef472214c07b328db314d0aafa7f530bac0bb', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322795, NULL, NULL, 1795377561616569);
INSERT INTO board_api_tokens VALUES (2, 2, 'ada', '4nay7mcnjv', 'd5424e008e671e0cf2a2670f56caf0fbc0a2044f67f699e56bf5afe9cca72fcb', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322939, NULL, NULL, 1795377561619904);
INSERT INTO board_api_tokens VALUES (3, 3, 'bob', '5oefvhjgub', '63051aa173104a64a946d3bd432641160072618229712e7f5467e2141dbd8a02', 'forums:read members:read posts:read posts:write threads:read threads:write', 1795377561322964, NULL, NULL, 1795377561761079);
INSERT INTO board_idempotency VALUES (3, 'once', 'c3476ac52c7f8ab5a62333b0be8573e16d00c89e47c2446b2f81fb37fd08de06', '{"thread":1,"post":6,"visibility":0}', 4130596761614159);
INSERT INTO board_reports VALUES (1, 2, 2, 2, 'not kind', 1795377561620096, NULL, NULL, NULL);
INSERT INTO board_moderation_log VALUES (1, 1, 'post.edit', 2, 1, 2, 'a mistake', 1795377561617003);
INSERT INTO board_moderation_log VALUES (2, 1, 'webhook.add', NULL, NULL, NULL, '127.0.0.1:9: post.created', 1795377561661396);
INSERT INTO board_settings VALUES ('cursor_secret', 'feee5dbc7f456e72f02598285ec85c0456a8d7392e90a904e351aac8d13155f8');
INSERT INTO board_settings VALUES ('names_filled', 'all');
INSERT INTO board_permission_version VALUES (11);
DELETE FROM board_search_data;
INSERT INTO board_search_data VALUES (1, X'080317');
INSERT INTO board_search_data VALUES (10, X'00000000FF00000101040500040101010101010105020101020200000103010103030000010401010404000001');
INSERT INTO board_search_data VALUES (137438953473, X'0000008D0230610102020206010102010601010202046D6F6E67050601010202016E020601010203056F746865720502020304737765720206010103010764656C657465640406010103010468656C6403060101030104706F7374030601010401060101040105737461727401060101030103746865010601010203047265616401020301027573050601010304100B080A0B0E0B100C0A09');
INSERT INTO board_search_data VALUES (274877906945, X'0000001A05306F6E63650606010103010473656E740606010102040B');
INSERT INTO board_search_data VALUES (412316860417, X'0000003A0330616E020601010203047377657202060101030106656469746564020601010601047468617402060101040103776173020601010504090B0D0B');
INSERT INTO board_search_data VALUES (549755813889, X'0000002803306265070601010301026F6607060101050102746F070601010203026C64070601010404090909');
INSERT INTO board_search_data VALUES (9007336693694464, X'04000000000000010000000000000000000000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
DELETE FROM board_search_idx;
INSERT INTO board_search_idx VALUES (1, X'', 2);
INSERT INTO board_search_idx VALUES (2, X'', 2);
INSERT INTO board_search_idx VALUES (3, X'', 2);
INSERT INTO board_search_idx VALUES (4, X'', 2);
DELETE FROM board_search_docsize;
INSERT INTO board_search_docsize VALUES (1, X'0202', 1);
INSERT INTO board_search_docsize VALUES (2, X'0005', 3);
INSERT INTO board_search_docsize VALUES (3, X'0003', 1);
INSERT INTO board_search_docsize VALUES (4, X'0003', 1);
INSERT INTO board_search_docsize VALUES (5, X'0102', 1);
INSERT INTO board_search_docsize VALUES (6, X'0002', 2);
INSERT INTO board_search_docsize VALUES (7, X'0004', 4);
DELETE FROM board_search_config;
INSERT INTO board_search_config VALUES ('version', 4);
INSERT INTO board_sessions VALUES (1, '8c2c3306e0bf85277f9f2111fd9a4a4c8882f35f1bef09580600b66492484ceb', 1, 1795377561657549, 4130596761657549, 1795377561657549);
INSERT INTO board_sessions VALUES (2, '4f911a1ea5f1a723a78658b7787fc54325310df4196d7ebe2cb8408afeea84fc', 2, 1795377561758714, 4130596761758714, 1795377561758714);
INSERT INTO board_attempts VALUES ('0f3369d26055452b30b884c1a2f1b33c8e5fbf1064a98d7d4712f7d14db8350a', 0, 4130597661663358);
INSERT INTO board_attempts VALUES ('2c0ab8bd32708a83224da6026f2b48bf878d503a062c041f8891a65eebd1e472', 1, 4130600361762929);
INSERT INTO board_attempts VALUES ('1eec7395582497be5790962479d24452f8e79225fcfeaaf6d1bab7604c98ba9a', 1, 4130600361762929);
INSERT INTO board_webhooks VALUES (1, 'http://127.0.0.1:9/hook', ' post.created ', 'aes1.4oVf24Kqqwev2rSuCWURvpVrYo_ISpNz9qmAWpfvSeX7vgMLeaD5FUGkHVRtwrWb422mtLRVjOQsk_HmDqy0wOCWVaWVhs6Re6Vp88_Aie4cjOWMqw', 1, '', 'root', 1795377561661314);
INSERT INTO board_webhook_deliveries VALUES (1, 1, 'evt_LIUADEXTKM7VMYIXE2L6E5DBAC', 'post.created', '{"event":"evt_LIUADEXTKM7VMYIXE2L6E5DBAC","topic":"post.created","createdAt":"2026-11-22T19:59:21.761Z","data":{"forumId":2,"threadId":1,"threadTitle":"A thread","postId":7,"number":6,"authorUserId":3,"authorUsername":"bob","visibility":"visible","previousVisibility":null,"reason":null}}', 'pending', 1, 4130596792492912, 0, 'the connection failed: dial tcp 127.0.0.1:9: connect: connection refused', 4130596761761578, 1795377562491624);
INSERT INTO board_mails VALUES (1, 2, 'instant', 'thread', 1, 6, 7, 4130596776614926, 0, 0, 1795377561614926);
INSERT INTO board_mails VALUES (3, 3, 'reset', 'link', 1, 0, 0, 4130596761763017, 0, 0, 1795377561763017);
INSERT INTO board_attachments VALUES (1, 1, 6, 3, 'words.txt', 'text/plain; charset=utf-8', 20, 'e013fa618eeb559fb3df3fa6f70a59e124008694a2bbe5f396299c68543acea8', NULL, NULL, 1795377561618399, NULL, 1);
INSERT INTO board_contents VALUES ('e013fa618eeb559fb3df3fa6f70a59e124008694a2bbe5f396299c68543acea8', 0, X'612066696C65206F6620736F6D6520776F726473', 1795377561618895);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'users', 3);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'forums', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'overrides', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'prefixes', 1);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'threads', 2);
INSERT INTO board_seeds VALUES ('eb9ada8a677d6c02a3a425cc2703b459', 'tokens', 3);
INSERT INTO board_links VALUES (1, 'reset', 3, 'bob@example.com', NULL, 4130600361763017);
INSERT INTO board_names VALUES (1, 'root', 0);
INSERT INTO board_names VALUES (2, 'ada', 0);
INSERT INTO board_names VALUES (3, 'bob', 0);
INSERT INTO board_member_posts VALUES (2, 0, 10);
INSERT INTO board_member_posts VALUES (2, 2, 1);
INSERT INTO board_member_posts VALUES (2, 3, 1);
INSERT INTO board_member_posts VALUES (3, 0, 10);
INSERT INTO board_member_posts VALUES (3, 2, 3);
INSERT INTO board_forum_counts VALUES (2, 1, 0, 2);
INSERT INTO schema_gateway VALUES (1, 0, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (2, 1, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (3, 2, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (4, 3, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (5, 4, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (6, 5, 1, '2026-11-22 19:59:21');
INSERT INTO schema_gateway VALUES (7, 6, 1, '2026-11-22 19:59:21');
INSERT INTO gateway_users VALUES ('ada', 1795377561836112);
INSERT INTO gateway_keys VALUES ('gk_iFBddRInm6x7H0Z6OHAR', 'ada', '40bc5a790ea6916de2af6852bdcfc4c52caa9362bd55be4baebe9360cb0daf98', 'ak-hNL…m2cT', 'primary', 1, NULL, 'override', 1795377561836112, NULL, 1795377540000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO gateway_keys VALUES ('gk_TU2OsRtMw4lvoZw8YYg6', 'ada', 'fe8516839444c64642aa85c3c63ddc38d4c61f318e41cfae88cd4178ed729c60', 'ak-v3c…7tI9', 'ci', 0, 7, 'override', 1795377561837564, NULL, NULL, NULL, NULL, NULL, NULL, 1500000, NULL);
INSERT INTO gateway_provider_keys VALUES ('pk_srZOXC9nBVpk5pvcuKAU', 'ada', 'openai', '', 'aes1.4oVf2_KiyEt_7z3F_08ioTZIhs4nAKZMHPpsYLsIt7AxZzHkDPEjfTzQaJxXtCNQZIs-rwPhyjAMYw', 'sk…st', 1795377561838393);
INSERT INTO gateway_models VALUES ('me_Ac9YYxTGDDv4tHDDmY7X', 'ada', 'own/large', 1, 1, 0, 'low', 'http://127.0.0.1:9/v1', 'large', 'aes1.4oVf27d9ZS9q_dHE2kUMaHxGLjAcb5AS1CiAXvOSYQOMzWzX_sl8UOXQPZqzfMX-DssfcCzz-w', 1795377561839185);
INSERT INTO gateway_preferences VALUES ('ada', '["openai"]', '[]', '[]');
INSERT INTO gateway_usage_records VALUES (1, 4130596761841325, 'ada', '["req_IIGC7I5s1HYqxthe0rYtKs8y","gk_iFBddRInm6x7H0Z6OHAR","chat_completions","keychain-high","high","openai","gpt-6.1-sol",0,200,"",1,"",1,0,64,0,"exact",642,1055,706,"pk_srZOXC9nBVpk5pvcuKAU"]');
INSERT INTO gateway_usage_records VALUES (2, 4130596761842538, 'ada', '["req_xIQeNnxgR1d5IJuCuYqrQDNx","gk_iFBddRInm6x7H0Z6OHAR","chat_completions","keychain-high","high","openai","gpt-6.1-sol",0,200,"",1,"",1,0,64,0,"exact",642,179,141,"pk_srZOXC9nBVpk5pvcuKAU"]');
INSERT INTO gateway_usage_hours VALUES ('ada', 1147387, 'gk_iFBddRInm6x7H0Z6OHAR', 'openai', 'gpt-6.1-sol', 'high', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2);
INSERT INTO gateway_usage_days VALUES ('ada', 47807, 'gk_iFBddRInm6x7H0Z6OHAR', 'openai', 'gpt-6.1-sol', 'high', 2, 2, 0, 0, 0, 2, 0, 128, 0, 1284, 0, 1234, 847, 2);
INSERT INTO schema_keyring VALUES (1, 0, 1, '2026-11-22 19:59:21');
INSERT INTO schema_keyring VALUES (2, 1, 1, '2026-11-22 19:59:21');
INSERT INTO keyring_checks VALUES ('gateway', 'aes1.4oVf2xQO4AwJVayimY7BZ3G0vYLE1_uGt48qBT66s8Q6bzyN-YAZxKHGKzg');
INSERT INTO keyring_checks VALUES ('board', 'aes1.4oVf29OctbHp6p_ah2-lsel7yAk95KST2OT6RofxtSbWek0l5zIbEV-asg8');
INSERT INTO schema_events VALUES (1, 0, 1, '2026-11-22 19:59:21');
INSERT INTO schema_events VALUES (2, 1, 1, '2026-11-22 19:59:21');
INSERT INTO schema_events VALUES (3, 2, 1, '2026-11-22 19:59:21');
INSERT INTO schema_events VALUES (4, 3, 1, '2026-11-22 19:59:21');
INSERT INTO schema_events VALUES (5, 4, 1, '2026-11-22 19:59:21');
INSERT INTO run_nodes VALUES (1, 'a.example.com', 2, 1772445670000, NULL, NULL);
INSERT INTO run_nodes VALUES (3, 'b.example.com', 3, 1772445730000, 1772496000000, NULL);
INSERT INTO run_environments VALUES (1, 'production');
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
INSERT INTO run_reports VALUES (1, X'3C4B257E69ED2D3393DBF586F1A96B55374999EE', 1, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445600000, 1772445609000, 1772445610000, 1795377561842, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_reports VALUES (2, X'FB48183F0037EC34BF525BA4D4B550CC3540D459', 1, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445660000, 1772445669000, 1772445670000, 1795377561845, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_reports VALUES (3, X'2C9ED378490875DB91F1B46749C9296E7C0B7732', 3, 1, 7, 5, 0, 0, NULL, 10, 12, 'v1', 1772445720000, 1772445729000, 1772445730000, 1795377561846, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_report_details VALUES (1772445610000, 1, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
INSERT INTO run_report_details VALUES (1772445670000, 2, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
INSERT INTO run_report_details VALUES (1772445730000, 3, X'000200FDFF5B5D0300', X'000200FDFF5B5D0300');
INSERT INTO run_resources VALUES (1, X'CAE9B283A55923373161E0B28C97FB88', 'File', '/srv/a.example.com', NULL, NULL, 'A', '["Stage[main]","A"]', 20514);
INSERT INTO run_resources VALUES (2, X'4150A8A0E11AB7DB8C4660A5C140B7CF', 'File', '/srv/b.example.com', NULL, NULL, 'A', '["Stage[main]","A"]', 20514);
INSERT INTO run_changes VALUES (1, X'6672E295F4973E33D7C381BFD69F49B9', 'ensure', NULL, '"absent"', '"file"', 'created a.example.com', 20514);
INSERT INTO run_changes VALUES (2, X'4035520EF907FE166F2545FB54B08D70', 'ensure', NULL, '"absent"', '"file"', 'created b.example.com', 20514);
INSERT INTO run_events VALUES (1772445601000, 1, 0, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445602000, 1, 1, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445603000, 1, 2, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445661000, 2, 0, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445662000, 2, 1, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445663000, 2, 2, 1, 1, 1, 1, NULL);
INSERT INTO run_events VALUES (1772445721000, 3, 0, 3, 2, 2, 1, NULL);
INSERT INTO run_events VALUES (1772445722000, 3, 1, 3, 2, 2, 1, NULL);
INSERT INTO run_events VALUES (1772445723000, 3, 2, 3, 2, 2, 1, NULL);
INSERT INTO run_rejected VALUES (1, 1795377561848, 'store report', 8, 'x', 'report: certname: a string is expected at byte 12', 1, X'000E00F1FF7B22636572746E616D65223A377D0300');
INSERT INTO run_event_counts VALUES (492346, 1, 0, 9);
INSERT INTO run_node_counts VALUES (492346, 1, 1, 6);
INSERT INTO run_node_counts VALUES (492346, 3, 1, 3);
CREATE INDEX board_threads_forum_visible ON board_threads (forum_id, last_post_at) WHERE visibility = 0;
CREATE INDEX board_threads_forum_all ON board_threads (forum_id, last_post_at);
CREATE INDEX board_threads_sticky ON board_threads (forum_id, last_post_at) WHERE is_sticky = 1;
CREATE INDEX board_threads_held_author ON board_threads (author_id, forum_id, last_post_at) WHERE visibility = 1;
CREATE INDEX board_threads_author ON board_threads (author_id, forum_id, last_post_at);
CREATE INDEX board_post_ids_held ON board_post_ids (forum_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_held_author ON board_post_ids (author_id, thread_id) WHERE visibility = 1;
CREATE INDEX board_post_ids_author ON board_post_ids (author_id);
CREATE INDEX board_subscriptions_target ON board_subscriptions (target, target_id);
CREATE INDEX board_notifications_user ON board_notifications (user_id);
CREATE INDEX board_api_tokens_user ON board_api_tokens (user_id);
CREATE INDEX board_sessions_user ON board_sessions (user_id);
CREATE INDEX board_sessions_seen ON board_sessions (seen_at);
CREATE INDEX board_attempts_ends ON board_attempts (ends_at);
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;
CREATE INDEX board_moderation_log_forum ON board_moderation_log (forum_id, id);
CREATE INDEX board_moderation_log_actor ON board_moderation_log (actor_id, id);
CREATE INDEX board_moderation_log_action ON board_moderation_log (action, id);
CREATE INDEX board_users_state ON board_users (state, username_key);
CREATE INDEX board_user_groups_group ON board_user_groups (group_id, user_id);
CREATE INDEX board_threads_prefix ON board_threads (prefix_id) WHERE prefix_id IS NOT NULL;
CREATE INDEX board_webhook_deliveries_due ON board_webhook_deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX board_webhook_deliveries_webhook ON board_webhook_deliveries (webhook_id);
CREATE INDEX board_webhook_deliveries_age ON board_webhook_deliveries (created_at);
CREATE INDEX board_mails_due ON board_mails (due_at);
CREATE INDEX board_idempotency_age ON board_idempotency (created_at);
CREATE INDEX board_thread_reads_age ON board_thread_reads (read_at);
CREATE INDEX board_notifications_age ON board_notifications (created_at);
CREATE INDEX board_attachments_post ON board_attachments (post_id) WHERE removed_at IS NULL;
CREATE INDEX board_attachments_removed ON board_attachments (created_at) WHERE removed_at IS NOT NULL;
CREATE INDEX board_attachments_user ON board_attachments (user_id, size);
CREATE INDEX board_attachments_content ON board_attachments (sha256);
CREATE INDEX board_posts_archive_thread ON board_posts_archive (thread_id);
CREATE INDEX board_post_ids_deleted ON board_post_ids (thread_id, created_at) WHERE visibility = 2;
CREATE INDEX board_links_user ON board_links (user_id);
CREATE INDEX board_links_expires ON board_links (expires_at);
CREATE INDEX board_users_unconfirmed ON board_users (joined_at) WHERE state = 'unconfirmed';
CREATE UNIQUE INDEX board_names_skeleton ON board_names (skeleton) WHERE clashes = 0;
CREATE INDEX board_names_clashes ON board_names (skeleton, user_id) WHERE clashes = 1;
CREATE INDEX board_attachments_unstripped ON board_attachments (id) WHERE stripped = 0;
CREATE INDEX gateway_keys_user ON gateway_keys (user_id, created_at, id);
CREATE INDEX gateway_provider_keys_user ON gateway_provider_keys (user_id, created_at, id);
CREATE INDEX gateway_usage_records_user ON gateway_usage_records (user_id);
CREATE INDEX gateway_usage_days_key ON gateway_usage_days (key_id, day);
CREATE INDEX gateway_keys_active ON gateway_keys (user_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX gateway_usage_hours_hour ON gateway_usage_hours (hour);
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us,
	record->>20 AS provider_key
FROM gateway_usage_records;
CREATE INDEX run_nodes_latest ON run_nodes (latest_report);
CREATE INDEX run_reports_node ON run_reports (node, producer_timestamp);
CREATE INDEX run_reports_time ON run_reports (producer_timestamp);
CREATE INDEX run_resources_type ON run_resources (type);
CREATE INDEX run_resources_used ON run_resources (used_day);
CREATE INDEX run_changes_used ON run_changes (used_day);
CREATE INDEX run_events_node ON run_events (node, at, status);
CREATE INDEX run_events_resource ON run_events (resource, at, status);
CREATE INDEX run_events_report ON run_events (report, status, resource);
CREATE INDEX run_reports_environment ON run_reports (environment);
CREATE INDEX run_events_status ON run_events (status, at, node, resource, change, corrective_change);
COMMIT;
