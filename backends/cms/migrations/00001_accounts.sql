-- +goose Up
-- Times are Unix microseconds.
CREATE TABLE cms_users (
	id            {{id}},
	name          TEXT {{bytewise}} NOT NULL UNIQUE, -- a-z 0-9 . _ -
	email         TEXT NOT NULL DEFAULT '',
	email_key     TEXT {{bytewise}} UNIQUE,          -- NULL: no address
	password_hash TEXT NOT NULL DEFAULT '',          -- empty: none can be used
	status        TEXT NOT NULL DEFAULT 'active',    -- active, disabled
	created       BIGINT NOT NULL,
	modified      BIGINT NOT NULL,
	-- Counts the changes after which sessions and tokens of before are good no more.
	epoch         BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE cms_roles (
	id    {{id}},
	name  TEXT {{bytewise}} NOT NULL UNIQUE,
	label TEXT NOT NULL DEFAULT ''
);

CREATE TABLE cms_user_roles (
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	role_id BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	PRIMARY KEY (user_id, role_id)
);
CREATE INDEX cms_user_roles_role ON cms_user_roles (role_id);

CREATE TABLE cms_permissions (
	role_id    BIGINT NOT NULL REFERENCES cms_roles (id) ON DELETE CASCADE,
	permission TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (role_id, permission)
);

INSERT INTO cms_roles (name, label) VALUES ('guest', 'Everybody');
INSERT INTO cms_roles (name, label) VALUES ('superuser', 'May do everything');
INSERT INTO cms_users (name, created, modified) VALUES ('guest', 0, 0);

-- +goose Down
DROP TABLE cms_permissions;
DROP TABLE cms_user_roles;
DROP TABLE cms_roles;
DROP TABLE cms_users;
