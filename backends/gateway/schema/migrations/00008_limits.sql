-- +goose Up
-- The limits that the operator imposes. Users cannot change them. A row with the kind key
-- bounds the key that it was made for and every key that came of it, which share it; a
-- row with the kind user bounds all keys of a user. NULL stands for no limit.
CREATE TABLE gateway_limits (
	kind                  TEXT   NOT NULL, -- key or user
	holder                TEXT   NOT NULL, -- the id of the key or of the user
	rate_limit_per_minute BIGINT,
	expires_at            BIGINT,
	allowed_models        TEXT,            -- JSON array of text
	tokens_per_day        BIGINT,
	tokens_per_month      BIGINT,
	micro_usd_per_day     BIGINT,
	micro_usd_per_month   BIGINT,
	PRIMARY KEY (kind, holder)
);

-- The holder of the limits that bind a key; NULL where none were ever imposed.
ALTER TABLE gateway_keys ADD COLUMN limited_by TEXT;
CREATE INDEX gateway_keys_limited ON gateway_keys (limited_by) WHERE limited_by IS NOT NULL;

-- Whether a model was found on a server, and not added by its user.
ALTER TABLE gateway_models ADD COLUMN found SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE gateway_models DROP COLUMN found;
DROP INDEX gateway_keys_limited;
ALTER TABLE gateway_keys DROP COLUMN limited_by;
DROP TABLE gateway_limits;
