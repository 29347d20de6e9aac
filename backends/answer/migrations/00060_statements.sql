-- +goose Up
-- Of which statement a fact is, and how sure it is, in per cent.
ALTER TABLE answer_facts ADD COLUMN statement TEXT NOT NULL DEFAULT '';
ALTER TABLE answer_facts ADD COLUMN sure SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE answer_facts DROP COLUMN statement;
ALTER TABLE answer_facts DROP COLUMN sure;
