-- +goose Up
-- Who a member is at an OpenID provider; see signon.go.
CREATE TABLE board_identities (
	issuer  TEXT    NOT NULL,
	subject TEXT    NOT NULL,
	user_id INTEGER NOT NULL REFERENCES board_users (id),
	PRIMARY KEY (issuer, subject),
	UNIQUE (user_id, issuer) -- a second person of a provider never gets into an account of the first
) WITHOUT ROWID;

-- +goose Down
DROP TABLE board_identities;
