-- +goose Up
-- 1: the password was shown to an administrator, and must be changed first.
ALTER TABLE board_users ADD COLUMN password_once SMALLINT NOT NULL DEFAULT 0;

ALTER TABLE board_reports ADD COLUMN closed_by BIGINT;
ALTER TABLE board_reports ADD COLUMN note TEXT;
CREATE INDEX board_reports_open ON board_reports (forum_id, id) WHERE closed_at IS NULL;

CREATE INDEX board_moderation_log_forum ON board_moderation_log (forum_id, id);
CREATE INDEX board_moderation_log_actor ON board_moderation_log (actor_id, id);
CREATE INDEX board_moderation_log_action ON board_moderation_log (action, id);

-- By bytes, as on SQLite, so that names that begin alike are one range.
ALTER TABLE board_users ALTER COLUMN username_key TYPE TEXT COLLATE "C";
CREATE INDEX board_users_state ON board_users (state, username_key);
CREATE INDEX board_user_groups_group ON board_user_groups (group_id, user_id);
CREATE INDEX board_threads_prefix ON board_threads (prefix_id) WHERE prefix_id IS NOT NULL;

-- +goose Down
DROP INDEX board_threads_prefix;
DROP INDEX board_user_groups_group;
DROP INDEX board_users_state;
ALTER TABLE board_users ALTER COLUMN username_key TYPE TEXT COLLATE "default";
DROP INDEX board_moderation_log_action;
DROP INDEX board_moderation_log_actor;
DROP INDEX board_moderation_log_forum;
DROP INDEX board_reports_open;
ALTER TABLE board_reports DROP COLUMN note;
ALTER TABLE board_reports DROP COLUMN closed_by;
ALTER TABLE board_users DROP COLUMN password_once;
