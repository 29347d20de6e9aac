-- +goose Up
-- Runs of a configuration agent, and the events of their resources. Times are Unix milliseconds, to which queries are
-- exact. Booleans are 0 and 1. What repeats from run to run and from node to node, such as the place of a resource in
-- the catalog and a change made to it, is stored once and referred to by number.

-- ---- Nodes, and the words that reports refer to ----

-- Nodes that ever sent a report or were deactivated.
CREATE TABLE run_nodes (
	id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the node in other tables
	certname         TEXT COLLATE "C" NOT NULL UNIQUE,
	latest_report    BIGINT, -- run_reports.id of the newest run that was no plan; NULL: none is stored
	latest_timestamp BIGINT, -- its producer_timestamp, which stays when the report is purged; NULL: none
	deactivated_at   BIGINT, -- the producer_timestamp of the command; NULL: active
	expired_at       BIGINT -- when the node was found silent for too long; NULL: not expired
);
CREATE INDEX run_nodes_latest ON run_nodes (latest_report); -- for latest_report? of events

-- The environments that reports name.
CREATE TABLE run_environments (
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_reports.environment
	name TEXT COLLATE "C" NOT NULL UNIQUE
);

-- The servers that sent reports.
CREATE TABLE run_producers (
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_reports.producer
	name TEXT COLLATE "C" NOT NULL UNIQUE
);

-- Short texts with few values: states of events and reports, types, versions.
CREATE TABLE run_words (
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- columns whose comment begins with "word"
	name TEXT COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO run_words (id, name) OVERRIDING SYSTEM VALUE VALUES
	(1, 'success'), (2, 'failure'), (3, 'noop'), (4, 'skipped'),
	(5, 'agent'), (6, 'plan'), (7, 'changed'), (8, 'unchanged'), (9, 'failed');
SELECT setval(pg_get_serial_sequence('run_words', 'id'), 100);

-- ---- Reports ----

-- A report of a run. Its bulk is in run_report_details.
CREATE TABLE run_reports (
	id                    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- ascending by arrival
	hash                  BYTEA NOT NULL UNIQUE, -- the id of the report, the 20 bytes of a SHA-1
	node                  BIGINT NOT NULL, -- run_nodes.id
	environment           BIGINT NOT NULL, -- run_environments.id
	status                BIGINT, -- word; NULL: sent as null
	type                  BIGINT NOT NULL, -- word: 5 agent, 6 plan
	noop                  SMALLINT, -- NULL: sent as null, also in the next two
	noop_pending          SMALLINT,
	corrective_change     SMALLINT, -- shown only if the service is configured to
	puppet_version        BIGINT NOT NULL, -- word
	report_format         BIGINT NOT NULL,
	configuration_version TEXT COLLATE "C" NOT NULL,
	start_time            BIGINT NOT NULL,
	end_time              BIGINT NOT NULL,
	producer_timestamp    BIGINT NOT NULL,
	receive_time          BIGINT NOT NULL, -- the server's clock at submission
	producer              BIGINT, -- run_producers.id; NULL: none
	transaction_uuid      TEXT COLLATE "C", -- NULL: none, also in the next four
	catalog_uuid          TEXT COLLATE "C",
	code_id               BIGINT, -- word
	job_id                TEXT COLLATE "C",
	cached_catalog_status BIGINT -- word
);
CREATE INDEX run_reports_node ON run_reports (node, producer_timestamp);
CREATE INDEX run_reports_time ON run_reports (producer_timestamp);
CREATE INDEX run_reports_environment ON run_reports (environment); -- environments that nothing names are swept

-- What is only read as a whole: JSON arrays with normalised times, compressed with DEFLATE. Partitioned like
-- run_events.
CREATE TABLE run_report_details (
	at      BIGINT NOT NULL, -- the producer_timestamp of the report
	report  BIGINT NOT NULL, -- run_reports.id
	logs    BYTEA NOT NULL,
	metrics BYTEA NOT NULL,
	PRIMARY KEY (at, report)
) PARTITION BY RANGE (at);

-- Commands that were accepted and could not be stored. Their number is limited.
CREATE TABLE run_rejected (
	id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at       BIGINT NOT NULL, -- of the last attempt
	command  TEXT COLLATE "C" NOT NULL,
	version  BIGINT NOT NULL,
	certname TEXT COLLATE "C" NOT NULL, -- the query parameter
	reason   TEXT COLLATE "C" NOT NULL,
	attempts BIGINT NOT NULL,
	payload  BYTEA NOT NULL -- compressed with DEFLATE
);

-- ---- Events ----

-- Resources, at their place in a catalog.
CREATE TABLE run_resources (
	id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_events.resource
	hash             BYTEA NOT NULL UNIQUE, -- 16 bytes of the SHA-256 of the next six columns
	type             TEXT COLLATE "C" NOT NULL,
	title            TEXT COLLATE "C" NOT NULL,
	file             TEXT COLLATE "C", -- NULL: unknown, also line
	line             BIGINT,
	containing_class TEXT COLLATE "C", -- NULL: no class in the path
	containment_path TEXT COLLATE "C", -- a compact JSON array; NULL: sent as null
	used_day         BIGINT NOT NULL -- Unix day of the newest event that refers to it; old rows are deleted
);
CREATE INDEX run_resources_type ON run_resources (type);
CREATE INDEX run_resources_used ON run_resources (used_day);
-- A title may be too long for an index, so it is found by its first characters.
CREATE INDEX run_resources_title ON run_resources (substr(title, 1, 100));

-- What events say about a property. Skipped resources share a row with NULL in all five columns. Values are canonical
-- JSON (sorted members, no spaces), so that equal values are equal text; a null that was sent is the text null.
CREATE TABLE run_changes (
	id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_events.change
	hash      BYTEA NOT NULL UNIQUE, -- 16 bytes of the SHA-256 of the next five columns
	property  TEXT COLLATE "C", -- NULL: the resource was refreshed, failed as a whole or was skipped
	name      TEXT COLLATE "C", -- NULL: skipped, or sent as null
	old_value TEXT COLLATE "C", -- NULL: skipped
	new_value TEXT COLLATE "C", -- NULL: skipped
	message   TEXT COLLATE "C", -- NULL: skipped, or sent as null
	used_day  BIGINT NOT NULL -- as in run_resources
);
CREATE INDEX run_changes_used ON run_changes (used_day);

-- The events, stored in the order of time: one partition a day, created with the first event of the day and dropped
-- as a whole.
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
) PARTITION BY RANGE (at);
CREATE INDEX run_events_report ON run_events (report);
CREATE INDEX run_events_node ON run_events (node, at);
CREATE INDEX run_events_resource ON run_events (resource, at);
CREATE INDEX run_events_status ON run_events (status, at);

-- The number of events of each status in each hour. A count is the sum of its parts, each of which may be negative.
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- the process that counts
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
);

-- The number of events of each status of each node in each hour. Whoever writes holds the lock of the node.
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
);
