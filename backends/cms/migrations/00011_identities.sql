-- +goose Up
-- 1: an administrator has set the address, or a provider has confirmed it; whoever sets the own one has not.
ALTER TABLE cms_users ADD COLUMN email_confirmed BIGINT NOT NULL DEFAULT 0;

-- Who a user is at an OpenID provider.
CREATE TABLE cms_identities (
	issuer  TEXT {{bytewise}} NOT NULL,
	subject TEXT {{bytewise}} NOT NULL,
	user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- a second person of a provider never gets into an account of the first
) {{without rowid}};

-- +goose Down
DROP TABLE cms_identities;
ALTER TABLE cms_users DROP COLUMN email_confirmed;
