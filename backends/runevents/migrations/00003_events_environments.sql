-- +goose Up
CREATE INDEX run_reports_environment ON run_reports (environment); -- environments that nothing names are swept

-- +goose Down
DROP INDEX run_reports_environment;
