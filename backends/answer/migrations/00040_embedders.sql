-- +goose Up
-- The vector of a fixed text by the model that made the vectors of passages: another model behind the same name has
-- another one.
CREATE TABLE answer_embedders (
	model TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	mark  {{bytes}} NOT NULL,
	since BIGINT NOT NULL -- Unix microseconds
);

-- +goose Down
DROP TABLE answer_embedders;
