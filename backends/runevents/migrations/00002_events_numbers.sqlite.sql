-- +goose Up
-- An event has its report from now on; those that had lost theirs go.
DELETE FROM run_events WHERE report NOT IN (SELECT id FROM run_reports);

-- Events are counted by node, by resource and by report without a look at the
-- events themselves.
DROP INDEX run_events_node;
CREATE INDEX run_events_node ON run_events (node, at, status);
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at, status);
DROP INDEX run_events_report;
CREATE INDEX run_events_report ON run_events (report, status, resource);

-- How many events of each state every hour has, kept with the events. A count
-- is the sum of its parts, which may be negative each.
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- of the process that counted
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
) WITHOUT ROWID;
INSERT INTO run_event_counts (hour, status, part, events)
	SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000, status, 0, COUNT(*) FROM run_events GROUP BY 1, 2;

-- +goose Down
DROP TABLE run_event_counts;
DROP INDEX run_events_report;
CREATE INDEX run_events_report ON run_events (report);
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at);
DROP INDEX run_events_node;
CREATE INDEX run_events_node ON run_events (node, at);
