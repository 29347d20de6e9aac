-- +goose Up
-- Events of a report are picked by resource, and written, without a look at the table.
DROP INDEX run_events_report;
CREATE INDEX run_events_report ON run_events (report, status, resource, node, change, corrective_change);

-- +goose Down
DROP INDEX run_events_report;
CREATE INDEX run_events_report ON run_events (report, status, resource);
