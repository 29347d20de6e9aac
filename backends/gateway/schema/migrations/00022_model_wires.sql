-- +goose Up
-- The wire format of a user's own model: chat, responses or messages. NULL is chat.
ALTER TABLE gateway_models ADD COLUMN wire TEXT;
