-- +goose Up
-- Records say which team the request counted for; most installations have none.
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us,
	record->>20 AS provider_key, record->>21 AS served_as, record->>22 AS server_tools, record->>23 AS team_id
FROM gateway_usage_records;

-- +goose Down
DROP VIEW gateway_usage;
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model, record->>4 AS tier, record->>5 AS provider,
	record->>6 AS model, record->>7 AS stream, record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens, record->>15 AS reasoning_tokens,
	record->>16 AS usage_source, record->>17 AS cost_micro_usd, record->>18 AS latency_us, record->>19 AS first_token_us,
	record->>20 AS provider_key, record->>21 AS served_as, record->>22 AS server_tools
FROM gateway_usage_records;
