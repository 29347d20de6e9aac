-- +goose Up
-- Lists and objects are JSON. Templates and fields keep their names, which data and family rules know
-- them by; roles are named by their ids.
CREATE TABLE cms_fields (
	id       {{id}},
	name     TEXT {{bytewise}} NOT NULL UNIQUE,
	type     TEXT NOT NULL,
	label    TEXT NOT NULL DEFAULT '',
	required SMALLINT NOT NULL DEFAULT 0,
	settings TEXT NOT NULL DEFAULT '{}'
);
-- The title, which every page has; its text is a column of the page.
INSERT INTO cms_fields (name, type, label, required) VALUES ('title', 'text', 'Title', 1);

CREATE TABLE cms_templates (
	id           {{id}},
	name         TEXT {{bytewise}} NOT NULL UNIQUE,
	label        TEXT NOT NULL DEFAULT '',
	flags        BIGINT NOT NULL DEFAULT 0,
	family       TEXT NOT NULL DEFAULT '{}', -- what may be above and below its pages
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
	name         TEXT {{bytewise}} NOT NULL, -- in the trash: a dot and the id
	path         TEXT {{bytewise}} NOT NULL UNIQUE,
	title        TEXT NOT NULL,
	status       SMALLINT NOT NULL, -- 0 published, 1 hidden, 2 unpublished, 3 trash
	sort         BIGINT NOT NULL,   -- among its siblings
	data         TEXT NOT NULL,
	created      BIGINT NOT NULL,
	created_by   BIGINT NOT NULL,
	modified     BIGINT NOT NULL,
	modified_by  BIGINT NOT NULL,
	published    BIGINT NOT NULL DEFAULT 0, -- the first time; 0: never
	version      BIGINT NOT NULL DEFAULT 1,
	draft        TEXT,   -- what is to take the place of title and data
	publish_at   BIGINT, -- NULL: by hand
	unpublish_at BIGINT,
	-- In the trash: with which page it went there, and what it was before.
	trash_root   BIGINT,
	trash_name   TEXT,
	trash_status SMALLINT,
	UNIQUE (parent_id, name)
);
CREATE INDEX cms_pages_sort ON cms_pages (parent_id, sort, id);
-- Lists of a template, and of all, in the orders that are asked for most.
CREATE INDEX cms_pages_template_created ON cms_pages (template_id, created, id) WHERE status = 0;
CREATE INDEX cms_pages_template_modified ON cms_pages (template_id, modified, id) WHERE status = 0;
CREATE INDEX cms_pages_template ON cms_pages (template_id, id);
CREATE INDEX cms_pages_created ON cms_pages (created, id) WHERE status = 0;
CREATE INDEX cms_pages_modified ON cms_pages (modified, id) WHERE status = 0;
CREATE INDEX cms_pages_name ON cms_pages (name);
CREATE INDEX cms_pages_publish ON cms_pages (publish_at) WHERE publish_at IS NOT NULL;
CREATE INDEX cms_pages_unpublish ON cms_pages (unpublish_at) WHERE unpublish_at IS NOT NULL;
CREATE INDEX cms_pages_trash ON cms_pages (trash_root) WHERE trash_root IS NOT NULL;

-- Copies of values to find pages by.
CREATE TABLE cms_page_values (
	id       {{id}},
	field_id BIGINT NOT NULL,
	page_id  BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	n        BIGINT NOT NULL, -- from 0, of a field with several
	text     TEXT {{bytewise}}, -- folded, its first 200 characters
	num      DOUBLE PRECISION,
	whole    TEXT             -- the folded text, where it is longer
);
CREATE INDEX cms_page_values_text ON cms_page_values (field_id, text, page_id) WHERE text IS NOT NULL;
CREATE INDEX cms_page_values_num ON cms_page_values (field_id, num, page_id) WHERE num IS NOT NULL;
CREATE INDEX cms_page_values_page ON cms_page_values (page_id, field_id, n);

CREATE TABLE cms_page_ancestors (
	ancestor_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	page_id     BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	PRIMARY KEY (ancestor_id, page_id)
) {{without rowid}};
CREATE INDEX cms_page_ancestors_page ON cms_page_ancestors (page_id, ancestor_id);

CREATE TABLE cms_page_revisions (
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL, -- the version that it was
	title   TEXT NOT NULL,
	data    TEXT NOT NULL,
	by_user BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (page_id, rev)
) {{without rowid}};

-- Where a page was. What was below it is found by the rest of the path.
CREATE TABLE cms_page_redirects (
	path    TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	at      BIGINT NOT NULL
) {{without rowid}};
CREATE INDEX cms_page_redirects_page ON cms_page_redirects (page_id);

-- +goose Down
DROP TABLE cms_page_redirects;
DROP TABLE cms_page_revisions;
DROP TABLE cms_page_ancestors;
DROP TABLE cms_page_values;
DROP TABLE cms_pages;
DROP TABLE cms_template_fields;
DROP TABLE cms_templates;
DROP TABLE cms_fields;
