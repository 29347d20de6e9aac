-- +goose Up
-- What pages have of a field that is deleted stays with them until they are saved, and must not become that of a
-- field of its name that is made later, of whatever type. Values of fields made from now on are stored under their
-- name and id, such as price#17; those of fields that are there stay under the name alone.
ALTER TABLE cms_fields ADD COLUMN numbered SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE cms_fields DROP COLUMN numbered;
