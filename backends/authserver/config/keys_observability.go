package config

var observabilityKeys = []Key{
	{
		Name: "observability.logging.add_source", Env: "AUTHSERVER_LOG_ADD_SOURCE",
		Rule: "adds the position in the source code to each line",
	},
	{
		Name: "observability.logging.format", Default: "json", Env: "AUTHSERVER_LOG_FORMAT",
		check: oneOf("json", "text"),
		Rule:  "`json`, `text`",
	},
	{
		Name: "observability.logging.level", Default: "info", Env: "AUTHSERVER_LOG_LEVEL",
		check: oneOf("debug", "info", "warn", "error"),
		Rule:  "`debug`, `info`, `warn`, `error`",
	},
	{
		Name: "observability.logging.outputs.insecure", Env: "AUTHSERVER_LOG_OTEL_INSECURE",
		Rule: "allow insecure gRPC for log export",
	},
	{
		Name: "observability.logging.outputs.otel", Env: "AUTHSERVER_LOG_OTEL",
		Rule: "export logs by OTLP",
	},
	{
		Name: "observability.logging.outputs.otel_endpoint", Env: "AUTHSERVER_LOG_OTEL_ENDPOINT",
		check: required(otelLogs, collector),
		Rule:  "required when log otel output is on",
	},
	{
		Name: "observability.logging.outputs.stdout", Default: "true", Env: "AUTHSERVER_LOG_STDOUT",
		Rule: "logs to the standard output",
	},
	{
		Name: "observability.metrics.insecure", Env: "AUTHSERVER_METRICS_INSECURE",
		Rule: "allow insecure gRPC for metrics export",
	},
	{
		Name: "observability.metrics.otel_endpoint", Env: "AUTHSERVER_METRICS_OTEL_ENDPOINT",
		check: required(otelMetrics, collector),
		Rule:  "required when provider is `otel` or `both`",
	},
	{
		Name: "observability.metrics.path", Default: "/metrics", Env: "AUTHSERVER_METRICS_PATH", check: scrapePath,
		Rule: "scrape path",
	},
	{
		Name: "observability.metrics.provider", Default: "prometheus", Env: "AUTHSERVER_METRICS_PROVIDER",
		check: oneOf("prometheus", "otel", "both", "none"),
		Rule:  "`prometheus`, `otel`, `none` (and `both`, which the endpoint rule refers to)",
	},
	{
		Name: "observability.tracing.enabled", Default: "false", Env: "AUTHSERVER_TRACING_ENABLED",
		Rule: "export traces by OTLP",
	},
	{
		Name: "observability.tracing.endpoint", Env: "AUTHSERVER_TRACING_ENDPOINT",
		check: required(tracingEnabled, collector),
		Rule:  "required when tracing is enabled",
	},
	{
		Name: "observability.tracing.insecure", Env: "AUTHSERVER_TRACING_INSECURE",
		Rule: "allow insecure gRPC for traces",
	},
	{
		Name: "observability.tracing.sample_rate", Default: "1.0", Env: "AUTHSERVER_TRACING_SAMPLE_RATE",
		check: between(0, 1),
		Rule:  "share of requests that are traced, 0 to 1",
	},
}
