-- +goose Up
-- Records say how an answer was served and which tools its provider ran; most have neither.
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface, record::json->>3 AS asked_model, record::json->>4 AS tier,
	record::json->>5 AS provider, record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens, (record::json->>14)::BIGINT AS output_tokens,
	(record::json->>15)::BIGINT AS reasoning_tokens, record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us,
	record::json->>20 AS provider_key, record::json->>21 AS served_as, record::json->>22 AS server_tools
FROM gateway_usage_records;

-- +goose Down
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface, record::json->>3 AS asked_model, record::json->>4 AS tier,
	record::json->>5 AS provider, record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens, (record::json->>14)::BIGINT AS output_tokens,
	(record::json->>15)::BIGINT AS reasoning_tokens, record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us,
	record::json->>20 AS provider_key
FROM gateway_usage_records;
