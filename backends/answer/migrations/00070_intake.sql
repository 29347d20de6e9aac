-- +goose Up
-- Files of watched folders and addresses of a list, as they were when they were read last.
CREATE TABLE answer_intake (
	source   TEXT {{bytewise}} NOT NULL, -- watch:<folder>, or fetch
	name     TEXT {{bytewise}} NOT NULL, -- of a file below its folder, or an address
	stamp    TEXT NOT NULL DEFAULT '',   -- size and time of a file
	etag     TEXT NOT NULL DEFAULT '',
	modified TEXT NOT NULL DEFAULT '',   -- Last-Modified of an address
	failures INTEGER NOT NULL DEFAULT 0, -- one after another
	problem  TEXT NOT NULL DEFAULT '',   -- that was told last
	due      BIGINT NOT NULL DEFAULT 0,  -- Unix microseconds; 0: when the file changes
	PRIMARY KEY (source, name)
) {{without rowid}};

-- The documents that are in them.
CREATE TABLE answer_intake_documents (
	source TEXT {{bytewise}} NOT NULL,
	name   TEXT {{bytewise}} NOT NULL,
	url    TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (source, name, url)
) {{without rowid}};
CREATE INDEX answer_intake_documents_url ON answer_intake_documents (url);

-- +goose Down
DROP TABLE answer_intake_documents;
DROP TABLE answer_intake;
