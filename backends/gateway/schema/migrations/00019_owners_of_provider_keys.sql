-- +goose Up
-- Provider keys belong to a user, to a team or to the organisation. What one may be used for is
-- in gateway_limits, with the kind provider_key and its id as the holder.
CREATE TABLE gateway_owned_provider_keys (
	id         TEXT   NOT NULL PRIMARY KEY,
	owner_kind TEXT   NOT NULL, -- user, team or organisation
	owner      TEXT   NOT NULL, -- the id of the user or team; organisation
	provider   TEXT   NOT NULL,
	label      TEXT   NOT NULL,
	sealed     TEXT   NOT NULL,
	masked     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
INSERT INTO gateway_owned_provider_keys (id, owner_kind, owner, provider, label, sealed, masked, created_at)
SELECT id, 'user', user_id, provider, label, sealed, masked, created_at FROM gateway_provider_keys;
DROP TABLE gateway_provider_keys;
ALTER TABLE gateway_owned_provider_keys RENAME TO gateway_provider_keys;
CREATE INDEX gateway_provider_keys_owner ON gateway_provider_keys (owner_kind, owner, created_at, id);

-- What was spent through each provider key in a day, from this migration on.
CREATE TABLE gateway_provider_key_days (
	provider_key   TEXT   NOT NULL,
	day            BIGINT NOT NULL, -- Unix days
	input_tokens   BIGINT NOT NULL,
	output_tokens  BIGINT NOT NULL,
	cost_micro_usd BIGINT NOT NULL,
	PRIMARY KEY (provider_key, day)
) {{without rowid}};

-- +goose Down
DROP TABLE gateway_provider_key_days;
DELETE FROM gateway_limits WHERE kind = 'provider_key';
CREATE TABLE gateway_users_provider_keys (
	id         TEXT   NOT NULL PRIMARY KEY,
	user_id    TEXT   NOT NULL REFERENCES gateway_users (id),
	provider   TEXT   NOT NULL,
	label      TEXT   NOT NULL,
	sealed     TEXT   NOT NULL,
	masked     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
INSERT INTO gateway_users_provider_keys (id, user_id, provider, label, sealed, masked, created_at)
SELECT id, owner, provider, label, sealed, masked, created_at FROM gateway_provider_keys WHERE owner_kind = 'user';
DROP TABLE gateway_provider_keys;
ALTER TABLE gateway_users_provider_keys RENAME TO gateway_provider_keys;
CREATE INDEX gateway_provider_keys_user ON gateway_provider_keys (user_id, created_at, id);
