-- +goose Up
-- Times are Unix microseconds, days are YYYY-MM-DD. An unknown one is 0 or empty.

-- ---- The corpus: issuers, their documents, and what is read from these ----

CREATE TABLE answer_issuers (
	id       {{id}},
	name     TEXT NOT NULL,
	name_key TEXT {{bytewise}} NOT NULL UNIQUE, -- the same for all ways to write the name
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
	issuer_id    BIGINT REFERENCES answer_issuers (id), -- NULL: no issuer, or several
	fiscal       INTEGER NOT NULL DEFAULT 0, -- the issuer's fiscal year
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

-- Further addresses of documents. A document that is found at several addresses is stored once, and stays as long as
-- one of them has it.
CREATE TABLE answer_copies (
	url         TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- never that of another document
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE
) {{without rowid}};
CREATE INDEX answer_copies_document ON answer_copies (document_id, url);

-- The passages of a document.
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

-- The terms of each passage. A search reads them instead of the text. Passages without an issuer have 0 as theirs.
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

-- Embeddings, one byte a dimension, where a model for them is configured.
CREATE TABLE answer_dense (
	chunk_id    BIGINT NOT NULL,
	model       TEXT {{bytewise}} NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	vector      {{bytes}} NOT NULL,
	PRIMARY KEY (chunk_id, model)
) {{without rowid}};
CREATE INDEX answer_dense_document ON answer_dense (document_id);

-- The embedding of a fixed text, by which another model behind the same name is noticed.
CREATE TABLE answer_embedders (
	model TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	mark  {{bytes}} NOT NULL,
	since BIGINT NOT NULL -- Unix microseconds
);

-- Numbers that documents state.
CREATE TABLE answer_facts (
	issuer_id   BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	metric      TEXT {{bytewise}} NOT NULL,
	period_end  TEXT {{bytewise}} NOT NULL, -- a day, or a year if only that is known
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
) {{without rowid}};
CREATE INDEX answer_facts_document ON answer_facts (document_id);

-- Daily prices of shares.
CREATE TABLE answer_prices (
	issuer_id BIGINT NOT NULL REFERENCES answer_issuers (id) ON DELETE CASCADE,
	day       TEXT {{bytewise}} NOT NULL,
	open      DOUBLE PRECISION NOT NULL,
	high      DOUBLE PRECISION NOT NULL,
	low       DOUBLE PRECISION NOT NULL,
	close     DOUBLE PRECISION NOT NULL,
	adj_close DOUBLE PRECISION NOT NULL,
	volume    DOUBLE PRECISION NOT NULL,
	source    TEXT NOT NULL, -- the URL of the document
	PRIMARY KEY (issuer_id, day)
) {{without rowid}};

-- The only row counts the changes of the corpus.
CREATE TABLE answer_corpus (
	version BIGINT NOT NULL
);
INSERT INTO answer_corpus (version) VALUES (1);

-- The full-text index of the passages. In both, a word each stands for the issuer, the year and the kind: i12, y2019,
-- kfiling. words also has a word for each range of passages: @13:122 stands for those whose numbers have 122 before
-- their last 13 bits.
{{sqlite}}CREATE VIRTUAL TABLE answer_search USING fts5 (scope, title, section, text,
{{sqlite}}	content = '', contentless_delete = 1, detail = column, tokenize = 'porter unicode61');
{{postgres}}CREATE TABLE answer_search (
{{postgres}}	chunk_id    BIGINT NOT NULL PRIMARY KEY,
{{postgres}}	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
{{postgres}}	words       TSVECTOR NOT NULL
{{postgres}});
{{postgres}}CREATE INDEX answer_search_document ON answer_search (document_id);
{{postgres}}CREATE INDEX answer_search_words ON answer_search USING gin (words);

-- ---- Intake: where documents come from ----

-- Files of watched folders and addresses of a list, as they were when they were last read.
CREATE TABLE answer_intake (
	source   TEXT {{bytewise}} NOT NULL, -- watch:<folder>, or fetch
	name     TEXT {{bytewise}} NOT NULL, -- the path of a file in its folder, or an address
	stamp    TEXT NOT NULL DEFAULT '', -- the size and time of a file
	etag     TEXT NOT NULL DEFAULT '',
	modified TEXT NOT NULL DEFAULT '', -- Last-Modified of an address
	failures INTEGER NOT NULL DEFAULT 0, -- in a row
	problem  TEXT NOT NULL DEFAULT '', -- the last one that was reported
	due      BIGINT NOT NULL DEFAULT 0, -- 0: when the file changes
	PRIMARY KEY (source, name)
) {{without rowid}};

-- The documents that each of them contains.
CREATE TABLE answer_intake_documents (
	source TEXT {{bytewise}} NOT NULL,
	name   TEXT {{bytewise}} NOT NULL,
	url    TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (source, name, url)
) {{without rowid}};
CREATE INDEX answer_intake_documents_url ON answer_intake_documents (url);

-- ---- Accounts: who may ask, and how much ----

CREATE TABLE answer_accounts (
	id          {{id}},
	name        TEXT {{bytewise}} NOT NULL UNIQUE,
	total_limit BIGINT NOT NULL, -- answers in a window of the quota
	created_at  BIGINT NOT NULL
);

CREATE TABLE answer_keys (
	id         {{id}},
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	label      TEXT NOT NULL,
	lookup     TEXT {{bytewise}} NOT NULL UNIQUE,
	digest     TEXT {{bytewise}} NOT NULL, -- SHA-256 of the secret
	services   TEXT NOT NULL, -- answer and quota, separated by spaces
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL DEFAULT 0, -- 0: never
	revoked_at BIGINT NOT NULL DEFAULT 0 -- 0: it is not
);
CREATE INDEX answer_keys_account ON answer_keys (account_id, id);

-- The questions of the last minute that were accepted. The rate limit counts them.
CREATE TABLE answer_accepted (
	key_id BIGINT NOT NULL REFERENCES answer_keys (id) ON DELETE CASCADE,
	at     BIGINT NOT NULL,
	answer TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (key_id, at, answer)
) {{without rowid}};

-- The quota of an account, by window.
CREATE TABLE answer_windows (
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	began      BIGINT NOT NULL,
	ends       BIGINT NOT NULL,
	used       BIGINT NOT NULL DEFAULT 0,
	pending    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, began)
) {{without rowid}};

-- Answers that are being made and count as pending in their window. After a crash the lease ends and the answer no
-- longer counts.
CREATE TABLE answer_reservations (
	answer     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	began      BIGINT NOT NULL, -- the beginning of the window
	lease      BIGINT NOT NULL
) {{without rowid}};
CREATE INDEX answer_reservations_lease ON answer_reservations (account_id, lease);

-- The answers that were given, and the requests that failed.
CREATE TABLE answer_answers (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL REFERENCES answer_accounts (id) ON DELETE CASCADE,
	key_id     BIGINT NOT NULL,
	status     TEXT NOT NULL, -- pending, done, failed
	code       INTEGER NOT NULL DEFAULT 0, -- the HTTP status
	reason     TEXT NOT NULL DEFAULT '', -- why there is no answer
	body       TEXT NOT NULL DEFAULT '', -- the result, sealed if there is a keyring
	trace      TEXT NOT NULL DEFAULT '', -- sealed like the body
	once_key   TEXT {{bytewise}} NULL, -- the Idempotency-Key
	once_hash  TEXT {{bytewise}} NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX answer_answers_once ON answer_answers (account_id, once_key);
CREATE INDEX answer_answers_age ON answer_answers (created_at);

-- The process that does a job in the background, or did so last. Other processes leave it to that one until the lease
-- ends.
CREATE TABLE answer_leases (
	name   TEXT NOT NULL PRIMARY KEY,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
