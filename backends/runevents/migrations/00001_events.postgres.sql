-- +goose Up
-- Runs of a configuration agent, and the events of their resources. Times are
-- Unix milliseconds, all that queries can see. Booleans are 0 and 1. What
-- repeats from run to run and from node to node (a resource's place in the
-- catalog, a change made to it) is written once and named by number.

-- The nodes that ever reported or were deactivated.
CREATE TABLE run_nodes (
	id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- names the node in the other tables
	certname         TEXT COLLATE "C" NOT NULL UNIQUE,
	latest_report    BIGINT,                   -- run_reports.id of the run with the greatest producer_timestamp, plans aside; NULL: none is kept
	latest_timestamp BIGINT,                   -- its producer_timestamp, kept when the report is purged; NULL: never reported
	deactivated_at   BIGINT,                   -- producer_timestamp of the command; NULL: not deactivated
	expired_at       BIGINT                    -- when it was found silent for too long; NULL: not expired
);
CREATE INDEX run_nodes_latest ON run_nodes (latest_report); -- latest_report? of an event

-- The environments that reports named.
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
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the columns said to be a word
	name TEXT COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO run_words (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'success'), (2, 'failure'), (3, 'noop'), (4, 'skipped'), (5, 'agent'), (6, 'plan'), (7, 'changed'), (8, 'unchanged'), (9, 'failed');
SELECT setval(pg_get_serial_sequence('run_words', 'id'), 100);

-- One row a run. Its bulk is in run_report_details.
CREATE TABLE run_reports (
	id                    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- names the report in the other tables, ascending by arrival
	hash                  BYTEA NOT NULL UNIQUE, -- the report id, SHA-1, 20 bytes
	node                  BIGINT   NOT NULL, -- run_nodes.id
	environment           BIGINT   NOT NULL, -- run_environments.id
	status                BIGINT,            -- word; NULL: sent as null
	type                  BIGINT   NOT NULL, -- word: 5 agent, 6 plan
	noop                  SMALLINT,          -- NULL: sent as null, as the next two
	noop_pending          SMALLINT,
	corrective_change     SMALLINT,          -- as sent; shown only when the service is told to
	puppet_version        BIGINT   NOT NULL, -- word
	report_format         BIGINT   NOT NULL,
	configuration_version TEXT COLLATE "C" NOT NULL,
	start_time            BIGINT   NOT NULL,
	end_time              BIGINT   NOT NULL,
	producer_timestamp    BIGINT   NOT NULL,
	receive_time          BIGINT   NOT NULL, -- the server's clock at submission
	producer              BIGINT,            -- run_producers.id; NULL: none
	transaction_uuid      TEXT COLLATE "C",            -- as sent; NULL: none, as the next four
	catalog_uuid          TEXT COLLATE "C",
	code_id               BIGINT,            -- word
	job_id                TEXT COLLATE "C",
	cached_catalog_status BIGINT             -- word
);
CREATE INDEX run_reports_node ON run_reports (node, producer_timestamp);
CREATE INDEX run_reports_time ON run_reports (producer_timestamp);

-- What of a report is read back as a whole: JSON arrays, each compressed with
-- DEFLATE, times in them normalised. Partitioned like the events.
CREATE TABLE run_report_details (
	at      BIGINT NOT NULL, -- producer_timestamp of the report
	report  BIGINT NOT NULL, -- run_reports.id
	logs    BYTEA NOT NULL,
	metrics BYTEA NOT NULL,
	PRIMARY KEY (at, report)
) PARTITION BY RANGE (at);

-- Resources as their catalogs place them.
CREATE TABLE run_resources (
	id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_events.resource
	hash             BYTEA NOT NULL UNIQUE, -- 16 bytes of the SHA-256 over the next six
	type             TEXT COLLATE "C" NOT NULL,
	title            TEXT COLLATE "C" NOT NULL,
	file             TEXT COLLATE "C",            -- NULL: no source position
	line             BIGINT,            -- NULL: no source position
	containing_class TEXT COLLATE "C",            -- NULL: no class in the path
	containment_path TEXT COLLATE "C",            -- JSON array of text, compact; NULL: sent as null
	used_day         BIGINT   NOT NULL  -- Unix day of the youngest event that names it; older rows are swept
);
CREATE INDEX run_resources_type ON run_resources (type); -- a title may be too long for an index
CREATE INDEX run_resources_used ON run_resources (used_day);

-- What events tell of a property. The row of skipped resources has NULL in all
-- five. Values are canonical JSON text (members sorted, no spaces), so that
-- equal values are equal text; a null that was sent is the text null.
CREATE TABLE run_changes (
	id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- run_events.change
	hash      BYTEA NOT NULL UNIQUE, -- 16 bytes of the SHA-256 over the next five
	property  TEXT COLLATE "C",            -- NULL: refreshed, failed as a whole, skipped
	name      TEXT COLLATE "C",            -- NULL: skipped, or sent as null
	old_value TEXT COLLATE "C",            -- NULL: skipped
	new_value TEXT COLLATE "C",            -- NULL: skipped
	message   TEXT COLLATE "C",            -- NULL: skipped, or sent as null
	used_day  BIGINT   NOT NULL  -- as in run_resources
);
CREATE INDEX run_changes_used ON run_changes (used_day);

-- The events, stored in the order of time: one partition a day, made when the
-- first event of the day comes and dropped as a whole.
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
) PARTITION BY RANGE (at);
CREATE INDEX run_events_report ON run_events (report);
CREATE INDEX run_events_node ON run_events (node, at);
CREATE INDEX run_events_resource ON run_events (resource, at);
CREATE INDEX run_events_status ON run_events (status, at);

-- Commands that were accepted but could not be stored. Bounded in number.
CREATE TABLE run_rejected (
	id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at       BIGINT   NOT NULL, -- when it failed last
	command  TEXT COLLATE "C" NOT NULL,
	version  BIGINT   NOT NULL,
	certname TEXT COLLATE "C" NOT NULL, -- of the query parameter
	reason   TEXT COLLATE "C" NOT NULL,
	attempts BIGINT   NOT NULL,
	payload  BYTEA NOT NULL  -- compressed with DEFLATE
);

-- +goose Down
DROP TABLE run_rejected;
DROP TABLE run_events;
DROP TABLE run_changes;
DROP TABLE run_resources;
DROP TABLE run_report_details;
DROP TABLE run_reports;
DROP TABLE run_words;
DROP TABLE run_producers;
DROP TABLE run_environments;
DROP TABLE run_nodes;
