-- +goose Up
-- An event has its report from now on; those that had lost theirs go.
DELETE FROM run_events e WHERE NOT EXISTS (SELECT 1 FROM run_reports r WHERE r.id = e.report);

-- How many events of each state every hour has, kept with the events. A count
-- is the sum of its parts, which may be negative each.
CREATE TABLE run_event_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	status BIGINT NOT NULL, -- as in run_events
	part   BIGINT NOT NULL, -- of the process that counted
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, status, part)
);
LOCK TABLE run_events IN SHARE ROW EXCLUSIVE MODE; -- what is written meanwhile waits, and is counted by who writes it
INSERT INTO run_event_counts (hour, status, part, events)
	SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000, status, 0, COUNT(*) FROM run_events GROUP BY 1, 2;

-- +goose Down
DROP TABLE run_event_counts;
