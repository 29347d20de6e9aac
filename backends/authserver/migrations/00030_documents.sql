-- +goose Up
-- Until when the metadata document of a client serves that is known by its URL, in Unix
-- microseconds; of other clients 0.
ALTER TABLE authserver_clients ADD COLUMN fresh_until BIGINT NOT NULL DEFAULT 0;
CREATE INDEX authserver_clients_documents ON authserver_clients (fresh_until) WHERE source = 'cimd';

-- +goose Down
DROP INDEX authserver_clients_documents;
ALTER TABLE authserver_clients DROP COLUMN fresh_until;
