-- +goose Up
-- The clients that want to be told when a session ends in which they got an ID token (OpenID Connect
-- Back-Channel Logout 1.0). When the session is gone, however that came about, session_id is NULL,
-- and the client is to be told.
CREATE TABLE authserver_session_clients (
	id           {{id}},
	session_id   BIGINT REFERENCES authserver_sessions (id) ON DELETE SET NULL,
	client_id    TEXT {{bytewise}} NOT NULL,
	user_id      TEXT {{bytewise}} NOT NULL,
	sid          TEXT {{bytewise}} NOT NULL,
	began_at     BIGINT NOT NULL, -- when the session did
	attempts     BIGINT NOT NULL DEFAULT 0,
	due_at       BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0,
	UNIQUE (session_id, client_id)
);
CREATE INDEX authserver_session_clients_due ON authserver_session_clients (due_at, id) WHERE session_id IS NULL;

-- +goose Down
DROP TABLE authserver_session_clients;
