-- +goose Up
-- Runs of a configuration agent, and the events of their resources. Times are Unix milliseconds, to which queries are
-- exact. Booleans are 0 and 1. What repeats from run to run and from node to node, such as the place of a resource in
-- the catalog and a change made to it, is stored once and referred to by number. Numbers are never reused
-- (AUTOINCREMENT).

-- ---- Nodes, and the words that reports refer to ----

-- Nodes that ever sent a report or were deactivated.
CREATE TABLE run_nodes (
	id               INTEGER PRIMARY KEY AUTOINCREMENT, -- the node in other tables
	certname         TEXT NOT NULL UNIQUE,
	latest_report    BIGINT, -- run_reports.id of the newest run that was no plan; NULL: none is stored
	latest_timestamp BIGINT, -- its producer_timestamp, which stays when the report is purged; NULL: none
	deactivated_at   BIGINT, -- the producer_timestamp of the command; NULL: active
	expired_at       BIGINT -- when the node was found silent for too long; NULL: not expired
);
CREATE INDEX run_nodes_latest ON run_nodes (latest_report); -- for latest_report? of events

-- The environments that reports name.
CREATE TABLE run_environments (
	id   INTEGER PRIMARY KEY, -- run_reports.environment
	name TEXT NOT NULL UNIQUE
);

-- The servers that sent reports.
CREATE TABLE run_producers (
	id   INTEGER PRIMARY KEY, -- run_reports.producer
	name TEXT NOT NULL UNIQUE
);

-- Short texts with few values: states of events and reports, types, versions.
CREATE TABLE run_words (
	id   INTEGER PRIMARY KEY, -- columns whose comment begins with "word"
	name TEXT NOT NULL UNIQUE
);
INSERT INTO run_words (id, name) VALUES
	(1, 'success'), (2, 'failure'), (3, 'noop'), (4, 'skipped'),
	(5, 'agent'), (6, 'plan'), (7, 'changed'), (8, 'unchanged'), (9, 'failed');

-- ---- Reports ----

-- A report of a run. Its bulk is in run_report_details.
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
CREATE INDEX run_reports_node ON run_reports (node, producer_timestamp);
CREATE INDEX run_reports_time ON run_reports (producer_timestamp);
CREATE INDEX run_reports_environment ON run_reports (environment); -- environments that nothing names are swept

-- What is only read as a whole: JSON arrays with normalised times, compressed with DEFLATE.
CREATE TABLE run_report_details (
	at      BIGINT NOT NULL, -- the producer_timestamp of the report
	report  BIGINT NOT NULL, -- run_reports.id
	logs    BLOB NOT NULL,
	metrics BLOB NOT NULL,
	PRIMARY KEY (at, report)
) WITHOUT ROWID;

-- Reports that were acknowledged and are not in the other tables yet; see the package inbox. Their numbers are made
-- of the time and chance, because counting them in sqlite_sequence would change another page for each report.
CREATE TABLE run_inbox (
	id       INTEGER PRIMARY KEY, -- ascending by arrival
	version  BIGINT NOT NULL, -- the version of the command
	received BIGINT NOT NULL, -- the server's clock at submission
	since    BIGINT NOT NULL, -- events before this time are not stored
	payload  BLOB NOT NULL -- compressed
);

-- Commands that were accepted and could not be stored. Their number is limited.
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

-- ---- Events ----

-- Resources, at their place in a catalog.
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
CREATE INDEX run_resources_type ON run_resources (type);
CREATE INDEX run_resources_used ON run_resources (used_day);
-- A title may be too long for an index, so it is found by its first characters.
CREATE INDEX run_resources_title ON run_resources (substr(title, 1, 100));

-- What events say about a property. Skipped resources share a row with NULL in all five columns. Values are canonical
-- JSON (sorted members, no spaces), so that equal values are equal text; a null that was sent is the text null.
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
CREATE INDEX run_changes_used ON run_changes (used_day);

-- The events, stored in the order of time. The indexes contain all that queries by report, node, resource and status
-- read, so that these need not read the table.
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
CREATE INDEX run_events_node ON run_events (node, at, status);
CREATE INDEX run_events_status ON run_events (status, at, node, resource, change, corrective_change);
CREATE INDEX run_events_resource ON run_events (resource, at, status, node, change, corrective_change);
CREATE INDEX run_events_report ON run_events (report, status, resource, node, change, corrective_change);

-- The number of events of each status in each hour. A count is the sum of its parts, each of which may be negative.
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- the process that counts
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
) WITHOUT ROWID;

-- The number of events of each status of each node in each hour.
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
) WITHOUT ROWID;
