-- +goose Up
-- Whether the provider at which somebody signs in has told their groups. Then silence means none.
ALTER TABLE authserver_users ADD COLUMN groups_told BIGINT NOT NULL DEFAULT 0;
