-- +goose Up
-- What a keyring must open before it seals or opens anything of a service.
CREATE TABLE keyring_checks (
	service TEXT NOT NULL PRIMARY KEY,
	sealed  TEXT NOT NULL
);

-- +goose Down
DROP TABLE keyring_checks;
