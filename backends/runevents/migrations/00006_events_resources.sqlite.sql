-- +goose Up
-- Events of a resource are compared, and written, without a look at the table.
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at, status, node, change, corrective_change);

-- +goose Down
DROP INDEX run_events_resource;
CREATE INDEX run_events_resource ON run_events (resource, at, status);
