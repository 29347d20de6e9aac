-- +goose Up
-- Reports that were acknowledged and are not stored in the other tables yet; see inbox.go.
CREATE TABLE run_inbox (
	id       INTEGER PRIMARY KEY AUTOINCREMENT, -- ascending by arrival
	version  BIGINT  NOT NULL, -- of the command
	received BIGINT  NOT NULL, -- the server's clock at submission
	since    BIGINT  NOT NULL, -- older events of it are not kept
	payload  BLOB    NOT NULL  -- packed
);

-- Events of a resource are compared, and written, without a look at the table.
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at, status, node, change, corrective_change);

-- +goose Down
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at, status);
DROP TABLE run_inbox;
