-- +goose Up
-- Vectors of meaning, where a model for them is configured: a byte a dimension.
CREATE TABLE answer_dense (
	chunk_id    BIGINT NOT NULL,
	model       TEXT {{bytewise}} NOT NULL,
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE,
	vector      {{bytes}} NOT NULL,
	PRIMARY KEY (chunk_id, model)
) {{without rowid}};
CREATE INDEX answer_dense_document ON answer_dense (document_id);

-- +goose Down
DROP TABLE answer_dense;
