-- +goose Up
-- Times are Unix microseconds, days are YYYY-MM-DD. An unknown one is 0 or empty.

CREATE TABLE answer_issuers (
	id       {{id}},
	name     TEXT NOT NULL,
	name_key TEXT {{bytewise}} NOT NULL UNIQUE, -- one for all ways to write it
	ticker   TEXT NOT NULL DEFAULT '',
	exchange TEXT NOT NULL DEFAULT '',
	cik      TEXT {{bytewise}} NOT NULL DEFAULT ''
);

-- Other names of issuers, and their tickers.
CREATE TABLE answer_aliases (
	alias_key TEXT {{bytewise}} NOT NULL,
	issuer_id BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	alias     TEXT NOT NULL,
	PRIMARY KEY (alias_key, issuer_id)
) {{without rowid}};
CREATE INDEX answer_aliases_issuer ON answer_aliases (issuer_id);

CREATE TABLE answer_documents (
	id           {{id}},
	kind         TEXT NOT NULL, -- filing, news, transcript, table, web
	form         TEXT NOT NULL DEFAULT '',
	issuer_id    BIGINT REFERENCES answer_issuers (id), -- NULL: none, or many
	fiscal       INTEGER NOT NULL DEFAULT 0, -- the year, as the issuer counts
	quarter      SMALLINT NOT NULL DEFAULT 0,
	period_start TEXT NOT NULL DEFAULT '',
	period_end   TEXT NOT NULL DEFAULT '',
	published_at BIGINT NOT NULL DEFAULT 0,
	title        TEXT NOT NULL,
	url          TEXT {{bytewise}} NOT NULL UNIQUE,
	lang         TEXT NOT NULL DEFAULT '',
	sha256       TEXT {{bytewise}} NOT NULL UNIQUE,
	pages        INTEGER NOT NULL DEFAULT 0,
	chunks       INTEGER NOT NULL,
	ingested_at  BIGINT NOT NULL
);
CREATE INDEX answer_documents_issuer ON answer_documents (issuer_id, fiscal, id);

CREATE TABLE answer_chunks (
	id          {{id}},
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

-- What a search reads of the chunks of an issuer (0: of none) instead of their text.
CREATE TABLE answer_vectors (
	issuer_id   BIGINT NOT NULL,
	fiscal      INTEGER NOT NULL,
	chunk_id    BIGINT NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	kind        TEXT NOT NULL,
	terms       {{bytes}} NOT NULL,
	PRIMARY KEY (issuer_id, fiscal, chunk_id)
) {{without rowid}};
CREATE INDEX answer_vectors_document ON answer_vectors (document_id);
CREATE UNIQUE INDEX answer_vectors_chunk ON answer_vectors (chunk_id);

CREATE TABLE answer_facts (
	issuer_id   BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	metric      TEXT {{bytewise}} NOT NULL,
	period_end  TEXT {{bytewise}} NOT NULL, -- a day, or a year where no more is known
	period_len  SMALLINT NOT NULL,   -- months; 0: a day
	fiscal      INTEGER NOT NULL,
	quarter     SMALLINT NOT NULL DEFAULT 0,
	label       TEXT NOT NULL,       -- as the document names it
	shown       TEXT NOT NULL,       -- as the document writes it
	value       DOUBLE PRECISION NOT NULL,
	step        DOUBLE PRECISION NOT NULL, -- one unit of its last digit
	unit        TEXT NOT NULL,
	currency    TEXT NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	chunk_id    BIGINT NOT NULL, -- 0: the document has no text
	PRIMARY KEY (issuer_id, metric, period_end, period_len, document_id)
) {{without rowid}};
CREATE INDEX answer_facts_document ON answer_facts (document_id);

CREATE TABLE answer_prices (
	issuer_id BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	day       TEXT {{bytewise}} NOT NULL,
	open      DOUBLE PRECISION NOT NULL,
	high      DOUBLE PRECISION NOT NULL,
	low       DOUBLE PRECISION NOT NULL,
	close     DOUBLE PRECISION NOT NULL,
	adj_close DOUBLE PRECISION NOT NULL,
	volume    DOUBLE PRECISION NOT NULL,
	source    TEXT NOT NULL, -- URL of the document
	PRIMARY KEY (issuer_id, day)
) {{without rowid}};

-- One row: the number of the last change.
CREATE TABLE answer_corpus (
	version BIGINT NOT NULL
);
INSERT INTO answer_corpus (version) VALUES (1);

-- words has a word each for the issuer, the year and the kind: i12, y2019, kfiling.
CREATE TABLE answer_search (
	chunk_id    BIGINT NOT NULL PRIMARY KEY,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	words       TSVECTOR NOT NULL
);
CREATE INDEX answer_search_words ON answer_search USING gin (words);
CREATE INDEX answer_search_document ON answer_search (document_id);

-- +goose Down
DROP TABLE answer_search;
DROP TABLE answer_corpus;
DROP TABLE answer_prices;
DROP TABLE answer_facts;
DROP TABLE answer_vectors;
DROP TABLE answer_chunks;
DROP TABLE answer_documents;
DROP TABLE answer_aliases;
DROP TABLE answer_issuers;
