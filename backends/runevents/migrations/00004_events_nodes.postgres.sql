-- +goose Up
-- How many events of each state every node has in every hour, kept with the events.
-- Who writes holds the lock of the node.
CREATE TABLE run_node_counts (
	hour   BIGINT NOT NULL, -- Unix hour of the events
	node   BIGINT NOT NULL, -- as in run_events
	status BIGINT NOT NULL, -- as in run_events
	events BIGINT NOT NULL,
	PRIMARY KEY (hour, node, status)
);
LOCK TABLE run_events IN SHARE ROW EXCLUSIVE MODE; -- what is written meanwhile waits, and is counted by who writes it
INSERT INTO run_node_counts (hour, node, status, events)
	SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000, node, status, COUNT(*) FROM run_events GROUP BY 1, 2, 3;

-- +goose Down
DROP TABLE run_node_counts;
