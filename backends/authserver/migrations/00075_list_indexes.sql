-- +goose Up
-- Lists of clients by what few of them are, and of whom subjects are mapped to, read those alone.
CREATE INDEX authserver_clients_status ON authserver_clients (status, issued_at, id) WHERE status <> 'active';
CREATE INDEX authserver_clients_source ON authserver_clients (source, issued_at, id);
CREATE INDEX authserver_clients_agents ON authserver_clients (issued_at, id) WHERE agent = 1;
CREATE INDEX authserver_xaa_subjects_created ON authserver_xaa_subjects (created_at, id);
CREATE INDEX authserver_xaa_subjects_idp ON authserver_xaa_subjects (idp_id, created_at, id);

-- +goose Down
DROP INDEX authserver_xaa_subjects_idp;
DROP INDEX authserver_xaa_subjects_created;
DROP INDEX authserver_clients_agents;
DROP INDEX authserver_clients_source;
DROP INDEX authserver_clients_status;
