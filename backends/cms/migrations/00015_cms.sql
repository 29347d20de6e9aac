-- +goose Up
-- Times are Unix microseconds. Lists and objects are JSON.

-- ---- Users: who they are, what they may do, and how they sign in ----

CREATE TABLE cms_users (
	id              {{id}},
	name            TEXT {{bytewise}} NOT NULL UNIQUE, -- a-z 0-9 . _ -
	email           TEXT NOT NULL DEFAULT '',
	email_key       TEXT {{bytewise}} UNIQUE, -- folded; NULL: no address
	-- 1: an administrator has set the address, or a provider has confirmed it. 0: the user has set it.
	email_confirmed BIGINT NOT NULL DEFAULT 0,
	password_hash   TEXT NOT NULL DEFAULT '', -- empty: no password is accepted
	status          TEXT NOT NULL DEFAULT 'active', -- active, disabled
	created         BIGINT NOT NULL,
	modified        BIGINT NOT NULL,
	-- Grows with each change after which earlier sessions and tokens are no longer accepted.
	epoch           BIGINT NOT NULL DEFAULT 0
);
-- For lists of users of a state, by name or the newest first.
CREATE INDEX cms_users_status ON cms_users (status, name);
CREATE INDEX cms_users_status_id ON cms_users (status, id);
INSERT INTO cms_users (name, created, modified) VALUES ('guest', 0, 0);

CREATE TABLE cms_roles (
	id    {{id}},
	name  TEXT {{bytewise}} NOT NULL UNIQUE,
	label TEXT NOT NULL DEFAULT ''
);
INSERT INTO cms_roles (name, label) VALUES ('guest', 'Everybody');
INSERT INTO cms_roles (name, label) VALUES ('superuser', 'May do everything');

CREATE TABLE cms_user_roles (
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	role_id BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	PRIMARY KEY (user_id, role_id)
);
CREATE INDEX cms_user_roles_users ON cms_user_roles (role_id, user_id);

CREATE TABLE cms_permissions (
	role_id    BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	permission TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (role_id, permission)
);

-- The accounts of users at OpenID providers.
CREATE TABLE cms_identities (
	issuer  TEXT {{bytewise}} NOT NULL,
	subject TEXT {{bytewise}} NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- nobody else of a provider gets into a user's account
) {{without rowid}};

CREATE TABLE cms_sessions (
	id           {{id}},
	secret_hash  TEXT {{bytewise}} NOT NULL UNIQUE,
	user_id      BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL,
	epoch        BIGINT NOT NULL DEFAULT 0, -- that of the user when the session began
	data         TEXT NOT NULL DEFAULT '', -- an object; empty: nothing
	-- The OpenID provider with which the user signed in; empty: with a password.
	issuer       TEXT NOT NULL DEFAULT ''
);
CREATE INDEX cms_sessions_user ON cms_sessions (user_id, id);
CREATE INDEX cms_sessions_seen ON cms_sessions (seen_at);

CREATE TABLE cms_revoked_tokens (
	jti     TEXT {{bytewise}} PRIMARY KEY,
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_revoked_tokens_ends ON cms_revoked_tokens (ends_at);

CREATE TABLE cms_refresh_tokens (
	hash    TEXT {{bytewise}} PRIMARY KEY,
	family  TEXT {{bytewise}} NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	epoch   BIGINT NOT NULL,
	used    BIGINT NOT NULL DEFAULT 0, -- 1: it was exchanged for another one
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_refresh_tokens_family ON cms_refresh_tokens (family);
CREATE INDEX cms_refresh_tokens_user ON cms_refresh_tokens (user_id);
CREATE INDEX cms_refresh_tokens_ends ON cms_refresh_tokens (ends_at);

-- Counts what is limited by account and address, such as failed logins.
CREATE TABLE cms_attempts (
	key     TEXT {{bytewise}} PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE INDEX cms_attempts_ends ON cms_attempts (ends_at);

-- ---- Content: fields, templates and pages ----

-- The fields of pages. Data and family rules refer to fields and templates by name; roles are referred to by id.
CREATE TABLE cms_fields (
	id       {{id}},
	name     TEXT {{bytewise}} NOT NULL UNIQUE,
	type     TEXT NOT NULL,
	-- 1: values are stored under the name and id of the field, such as price#17, so that those of a deleted field,
	-- which pages keep until they are saved, never become values of a new field of the same name. 0: they are stored
	-- under the name alone, as of fields that are older than this column.
	numbered SMALLINT NOT NULL DEFAULT 0,
	label    TEXT NOT NULL DEFAULT '',
	required SMALLINT NOT NULL DEFAULT 0,
	settings TEXT NOT NULL DEFAULT '{}'
);
-- Every page has a title. It is stored in a column of the page.
INSERT INTO cms_fields (name, type, label, required) VALUES ('title', 'text', 'Title', 1);

CREATE TABLE cms_templates (
	id           {{id}},
	name         TEXT {{bytewise}} NOT NULL UNIQUE,
	label        TEXT NOT NULL DEFAULT '',
	flags        BIGINT NOT NULL DEFAULT 0,
	family       TEXT NOT NULL DEFAULT '{}', -- which templates the parents and children of its pages may have
	view_roles   TEXT NOT NULL DEFAULT '[]',
	edit_roles   TEXT NOT NULL DEFAULT '[]',
	create_roles TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE cms_template_fields (
	template_id BIGINT NOT NULL REFERENCES cms_templates (id) ON DELETE CASCADE,
	field_id    BIGINT NOT NULL REFERENCES cms_fields (id),
	position    BIGINT NOT NULL,
	PRIMARY KEY (template_id, field_id)
);
CREATE INDEX cms_template_fields_field ON cms_template_fields (field_id);

CREATE TABLE cms_pages (
	id           {{id}},
	parent_id    BIGINT REFERENCES cms_pages (id), -- NULL: the root
	template_id  BIGINT NOT NULL REFERENCES cms_templates (id),
	name         TEXT {{bytewise}} NOT NULL, -- a dot and the id while in the trash
	path         TEXT {{bytewise}} NOT NULL UNIQUE,
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
CREATE INDEX cms_pages_sort ON cms_pages (parent_id, sort, id);
-- For lists of the pages of a template and of all pages, in the most frequent orders.
CREATE INDEX cms_pages_template_created ON cms_pages (template_id, created, id) WHERE status = 0;
CREATE INDEX cms_pages_template_modified ON cms_pages (template_id, modified, id) WHERE status = 0;
CREATE INDEX cms_pages_template ON cms_pages (template_id, id);
CREATE INDEX cms_pages_created ON cms_pages (created, id) WHERE status = 0;
CREATE INDEX cms_pages_modified ON cms_pages (modified, id) WHERE status = 0;
CREATE INDEX cms_pages_name ON cms_pages (name);
CREATE INDEX cms_pages_publish ON cms_pages (publish_at) WHERE publish_at IS NOT NULL;
CREATE INDEX cms_pages_unpublish ON cms_pages (unpublish_at) WHERE unpublish_at IS NOT NULL;
CREATE INDEX cms_pages_trash ON cms_pages (trash_root) WHERE trash_root IS NOT NULL;

-- Copies of the values of fields, by which pages are found.
CREATE TABLE cms_page_values (
	id       {{id}},
	field_id BIGINT NOT NULL,
	page_id  BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	n        BIGINT NOT NULL, -- counts the values of a field with several, from 0
	text     TEXT {{bytewise}}, -- folded, its first 200 characters
	num      DOUBLE PRECISION,
{{sqlite}}	whole    TEXT -- all of the folded text if it is longer
{{postgres}}	whole    TEXT, -- all of the folded text if it is longer
{{postgres}}	words    TSVECTOR
);
CREATE INDEX cms_page_values_text ON cms_page_values (field_id, text, page_id) WHERE text IS NOT NULL;
CREATE INDEX cms_page_values_num ON cms_page_values (field_id, num, page_id) WHERE num IS NOT NULL;
CREATE INDEX cms_page_values_page ON cms_page_values (page_id, field_id, n);
-- PostgreSQL collects new words in a list. Whoever saves the page that fills it adds all of them to the index, which
-- takes a quarter of a second with the default of 4 MB and 30 ms with this limit in kB.
{{postgres}}CREATE INDEX cms_page_values_words ON cms_page_values USING gin (words) WITH (gin_pending_list_limit = 512);

-- The words of cms_page_values, by its ids, already split and folded. FTS5 merges 64 and more leaves at a time while a
-- page is saved: that delays other writers by 20 ms with leaves of 4,050 bytes and by 5 ms with these.
{{sqlite}}CREATE VIRTUAL TABLE cms_search USING fts5 (words, content = '', contentless_delete = 1,
{{sqlite}}	tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
{{sqlite}}INSERT INTO cms_search (cms_search, rank) VALUES ('pgsz', 1000);

CREATE TABLE cms_page_ancestors (
	ancestor_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	page_id     BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	PRIMARY KEY (ancestor_id, page_id)
) {{without rowid}};
CREATE INDEX cms_page_ancestors_page ON cms_page_ancestors (page_id, ancestor_id);

-- Former versions of pages.
CREATE TABLE cms_page_revisions (
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL, -- the version of the page
	title   TEXT NOT NULL,
	data    TEXT NOT NULL,
	by_user BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (page_id, rev)
) {{without rowid}};

-- Former paths of pages. Paths below them lead to the same rest below the new path.
CREATE TABLE cms_page_redirects (
	path    TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	at      BIGINT NOT NULL
) {{without rowid}};
CREATE INDEX cms_page_redirects_page ON cms_page_redirects (page_id);

-- The files of pages. A file that was removed from its page stays for the revisions.
CREATE TABLE cms_files (
	id         {{id}},
	page_id    BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	field      TEXT NOT NULL,
	hash       TEXT {{bytewise}} NOT NULL, -- names the content
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	width      BIGINT NOT NULL, -- 0: not an image
	height     BIGINT NOT NULL,
	created    BIGINT NOT NULL,
	created_by BIGINT NOT NULL
);
CREATE INDEX cms_files_page ON cms_files (page_id);
CREATE INDEX cms_files_hash ON cms_files (hash);
