-- The sums of the log, computed by the database. Tests compare them with those that the program writes.
INSERT INTO gateway_usage_hours
SELECT user_id, hour, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM (
	SELECT user_id, at / 3600000000 AS hour, key_id, provider, model, tier, 1 AS requests, (code = '')::INT AS succeeded,
		(code NOT IN ('', 'client_closed_request'))::INT AS failed, (code = 'client_closed_request')::INT AS cancelled, 0 AS failed_attempts,
		greatest(0, least(input_tokens, 1000000000)) AS input_tokens, greatest(0, least(cached_tokens, 1000000000)) AS cached_tokens,
		greatest(0, least(output_tokens, 1000000000)) AS output_tokens, greatest(0, least(reasoning_tokens, 1000000000)) AS reasoning_tokens,
		greatest(0, least(coalesce(cost_micro_usd, 0), 1000000000)) AS cost_micro_usd, (provider <> '' AND cost_micro_usd IS NULL)::INT AS unpriced,
		greatest(0, least(latency_us, 1000000000000)) AS latency_us, greatest(0, least(first_token_us, 1000000000000)) AS first_token_us,
		(first_token_us > 0)::INT AS first_tokens
	FROM gateway_usage
	UNION ALL
	SELECT user_id, at / 3600000000, key_id, attempt->>'provider', attempt->>'model', tier, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
	FROM gateway_usage, json_array_elements(CASE failed_attempts WHEN '' THEN '[]' ELSE failed_attempts END::json) AS attempt
) AS counted
GROUP BY user_id, hour, key_id, provider, model, tier;
INSERT INTO gateway_usage_days
SELECT user_id, hour / 24, key_id, provider, model, tier, sum(requests), sum(succeeded), sum(failed), sum(cancelled), sum(failed_attempts),
	sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced), sum(latency_us),
	sum(first_token_us), sum(first_tokens)
FROM gateway_usage_hours GROUP BY 1, 2, 3, 4, 5, 6;
