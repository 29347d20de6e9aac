-- +goose Up
-- The files of pages. Those that a page has no more stay with its revisions.
CREATE TABLE cms_files (
	id         {{id}},
	page_id    BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
	field      TEXT NOT NULL,
	hash       TEXT {{bytewise}} NOT NULL, -- of the content
	name       TEXT NOT NULL,
	media_type TEXT NOT NULL,
	size       BIGINT NOT NULL,
	width      BIGINT NOT NULL, -- 0: no image
	height     BIGINT NOT NULL,
	created    BIGINT NOT NULL,
	created_by BIGINT NOT NULL
);
CREATE INDEX cms_files_page ON cms_files (page_id);
CREATE INDEX cms_files_hash ON cms_files (hash);

-- +goose Down
DROP TABLE cms_files;
