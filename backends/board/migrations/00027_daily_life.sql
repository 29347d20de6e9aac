-- +goose Up
-- When a member gets digests: the hour of the day in the member's time zone, and the day of weekly ones (0: Sunday).
-- digest_at is a past time of a digest, in Unix microseconds, from which statements count; see the package following. It
-- begins as a Monday at 6:00 UTC.
ALTER TABLE board_users ADD COLUMN digest_hour BIGINT NOT NULL DEFAULT 6;
ALTER TABLE board_users ADD COLUMN digest_day BIGINT NOT NULL DEFAULT 1;
ALTER TABLE board_users ADD COLUMN digest_at BIGINT NOT NULL DEFAULT 367200000000;

-- +goose Down
ALTER TABLE board_users DROP COLUMN digest_at;
ALTER TABLE board_users DROP COLUMN digest_day;
ALTER TABLE board_users DROP COLUMN digest_hour;
