-- +goose Up
-- words has a word for each stretch of passages, too: @13:122 is of numbers with 122 before
-- their last 13 bits. Without its index the table is written once.
DROP INDEX answer_search_words;
UPDATE answer_search SET words = words || array_to_tsvector(ARRAY[
	'@13:' || (chunk_id >> 13), '@15:' || (chunk_id >> 15), '@17:' || (chunk_id >> 17), '@19:' || (chunk_id >> 19)]);
CREATE INDEX answer_search_words ON answer_search USING gin (words);

-- +goose Down
DROP INDEX answer_search_words;
UPDATE answer_search SET words = ts_delete(words, ARRAY[
	'@13:' || (chunk_id >> 13), '@15:' || (chunk_id >> 15), '@17:' || (chunk_id >> 17), '@19:' || (chunk_id >> 19)]);
CREATE INDEX answer_search_words ON answer_search USING gin (words);
