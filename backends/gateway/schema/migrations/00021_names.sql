-- +goose Up
-- Other names for models and tiers, of a user, of a team, or of the organisation.
CREATE TABLE gateway_aliases (
	owner_kind TEXT   NOT NULL, -- user, team or organisation
	owner      TEXT   NOT NULL, -- the id of the user or team; organisation
	name       TEXT   NOT NULL, -- as clients send it
	target     TEXT   NOT NULL, -- provider/model, the id of a model, or keychain-low, -medium, -high
	created_at BIGINT NOT NULL,
	PRIMARY KEY (owner_kind, owner, name)
) {{without rowid}};

-- Files and batches that providers keep, for whom they do.
CREATE TABLE gateway_objects (
	user_id      TEXT   NOT NULL,
	team_id      TEXT   NOT NULL, -- empty: none
	kind         TEXT   NOT NULL, -- file or batch
	id           TEXT   NOT NULL, -- the provider's
	key_id       TEXT   NOT NULL, -- the gateway key that made it
	provider     TEXT   NOT NULL,
	provider_key TEXT   NOT NULL, -- its public id: only it reaches the object
	created_at   BIGINT NOT NULL, -- Unix microseconds
	charged      INTEGER NOT NULL, -- 0: a batch whose cost is still to come
	polled_at    BIGINT NOT NULL, -- when it was last asked for that
	PRIMARY KEY (user_id, team_id, kind, id)
) {{without rowid}};
CREATE INDEX gateway_objects_newest ON gateway_objects (user_id, team_id, kind, created_at, id);
CREATE INDEX gateway_objects_uncharged ON gateway_objects (polled_at, id) WHERE charged = 0;

-- +goose Down
DROP TABLE gateway_objects;
DROP TABLE gateway_aliases;
