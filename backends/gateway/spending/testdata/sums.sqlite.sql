-- The sums of the log, computed by the database. Tests compare them with those that the program writes.
INSERT INTO gateway_usage_hours
SELECT user_id, hour, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM (
	SELECT user_id, at / 3600000000 AS hour, key_id, provider, model, tier, 1 AS requests, code = '' AS succeeded,
		code NOT IN ('', 'client_closed_request') AS failed, code = 'client_closed_request' AS cancelled, 0 AS failed_attempts,
		max(0, min(input_tokens, 1000000000)) AS input_tokens, max(0, min(cached_tokens, 1000000000)) AS cached_tokens,
		max(0, min(output_tokens, 1000000000)) AS output_tokens, max(0, min(reasoning_tokens, 1000000000)) AS reasoning_tokens,
		max(0, min(coalesce(cost_micro_usd, 0), 1000000000)) AS cost_micro_usd, provider <> '' AND cost_micro_usd IS NULL AS unpriced,
		max(0, min(latency_us, 1000000000000)) AS latency_us, max(0, min(first_token_us, 1000000000000)) AS first_token_us,
		first_token_us > 0 AS first_tokens
	FROM gateway_usage
	UNION ALL
	SELECT user_id, at / 3600000000, key_id, attempt.value->>'provider', attempt.value->>'model', tier, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
	FROM gateway_usage, json_each(CASE failed_attempts WHEN '' THEN '[]' ELSE failed_attempts END) AS attempt
)
GROUP BY user_id, hour, key_id, provider, model, tier;
INSERT INTO gateway_usage_days
SELECT user_id, hour / 24, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM gateway_usage_hours GROUP BY 1, 2, 3, 4, 5, 6;
