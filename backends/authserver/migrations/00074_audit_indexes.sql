-- +goose Up
-- Who looks for what one actor or one client did, or for one action, reads that alone.
CREATE INDEX authserver_audit_actor ON authserver_audit (actor_id, created_at, id) WHERE actor_id <> '';
CREATE INDEX authserver_audit_client ON authserver_audit (client_id, created_at, id) WHERE client_id <> '';
CREATE INDEX authserver_audit_action ON authserver_audit (action, created_at, id);

-- +goose Down
DROP INDEX authserver_audit_action;
DROP INDEX authserver_audit_client;
DROP INDEX authserver_audit_actor;
