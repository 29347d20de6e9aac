-- +goose Up
-- How many events of each state every node has in every hour, kept with the events.
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
) WITHOUT ROWID;
INSERT INTO run_node_counts (hour, node, status, events)
	SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000, node, status, COUNT(*) FROM run_events GROUP BY 1, 2, 3;

-- Events of a state are picked by node and resource, and written, without a look at the
-- table.
DROP INDEX run_events_status;
CREATE INDEX run_events_status ON run_events (status, at, node, resource, change, corrective_change);

-- +goose Down
DROP INDEX run_events_status;
CREATE INDEX run_events_status ON run_events (status, at);
DROP TABLE run_node_counts;
