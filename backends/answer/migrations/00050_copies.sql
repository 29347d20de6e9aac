-- +goose Up
-- Where else a document stands that is taken in once: it stays as long as one address has it.
CREATE TABLE answer_copies (
	url         TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- of no document
	document_id BIGINT NOT NULL REFERENCES answer_documents (id) ON DELETE CASCADE
) {{without rowid}};
CREATE INDEX answer_copies_document ON answer_copies (document_id, url);

-- +goose Down
DROP TABLE answer_copies;
