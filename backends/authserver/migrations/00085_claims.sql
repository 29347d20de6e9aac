-- +goose Up
-- What the operator says of users for the claims of applications.
CREATE TABLE authserver_user_facts (
	user_id    TEXT {{bytewise}} NOT NULL PRIMARY KEY REFERENCES authserver_users (id) ON DELETE CASCADE,
	roles      TEXT NOT NULL DEFAULT '[]',
	attributes TEXT NOT NULL DEFAULT '{}' -- lists of values by name
);

-- The roles of whoever is in a group.
CREATE TABLE authserver_group_roles (
	group_name TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	roles      TEXT NOT NULL
);

ALTER TABLE authserver_resources ADD COLUMN claim_rules TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE authserver_resources DROP COLUMN claim_rules;
DROP TABLE authserver_group_roles;
DROP TABLE authserver_user_facts;
