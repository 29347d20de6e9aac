-- +goose Up
-- Devices that wait for somebody to type their code (RFC 8628).
CREATE TABLE authserver_devices (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- of the device code
	user_code  TEXT {{bytewise}} NOT NULL UNIQUE,      -- its letters
	client_id  TEXT {{bytewise}} NOT NULL,
	asked      TEXT NOT NULL,              -- object: scope and resources
	status     TEXT NOT NULL DEFAULT 'pending', -- pending, allowed, denied
	user_id    TEXT {{bytewise}} NOT NULL DEFAULT '', -- who has decided
	granted    TEXT NOT NULL DEFAULT '{}', -- object: what was granted
	polled_at  BIGINT NOT NULL DEFAULT 0,
	pause      BIGINT NOT NULL,            -- the least time between two polls, microseconds
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_devices_expires ON authserver_devices (expires_at);

-- +goose Down
DROP TABLE authserver_devices;
