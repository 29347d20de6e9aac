-- +goose Up
-- When a client that registered itself was last there, in Unix microseconds and to the hour; 0:
-- it never was. Nobody knows that of those that are there already: they begin anew.
ALTER TABLE authserver_clients ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
UPDATE authserver_clients SET seen_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000 WHERE source = 'dcr';
CREATE INDEX authserver_clients_seen ON authserver_clients (seen_at, issued_at) WHERE source = 'dcr' AND status = 'active';

-- +goose Down
DROP INDEX authserver_clients_seen;
ALTER TABLE authserver_clients DROP COLUMN seen_at;
