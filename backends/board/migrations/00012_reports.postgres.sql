-- +goose Up
-- A member may report a post again when the report before is closed; see report.go.
ALTER TABLE board_reports DROP CONSTRAINT board_reports_post_id_user_id_key;
CREATE INDEX board_reports_member ON board_reports (post_id, user_id);
CREATE UNIQUE INDEX board_reports_member_open ON board_reports (post_id, user_id) WHERE closed_at IS NULL;

-- +goose Down
DELETE FROM board_reports WHERE id NOT IN (SELECT MAX(id) FROM board_reports GROUP BY post_id, user_id);
DROP INDEX board_reports_member_open;
DROP INDEX board_reports_member;
ALTER TABLE board_reports ADD UNIQUE (post_id, user_id);
