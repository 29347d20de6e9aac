-- +goose Up
-- When a user who wants their account deleted is forgotten; NULL: they want to stay.
ALTER TABLE authserver_users ADD COLUMN delete_at BIGINT;
CREATE INDEX authserver_users_delete ON authserver_users (delete_at) WHERE delete_at IS NOT NULL;

-- +goose Down
DROP INDEX authserver_users_delete;
ALTER TABLE authserver_users DROP COLUMN delete_at;
