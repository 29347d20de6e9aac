package otlp

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap/zapcore"
)

// Logs is a zap core that sends log lines to a collector.
type Logs struct {
	zapcore.LevelEnabler
	provider *sdk.LoggerProvider
	logger   log.Logger
	fields   []zapcore.Field // added to each line
}

// NewLogs returns a core for log lines of a level and above. It connects to the collector in the background. Lines that
// the collector does not accept in time are lost.
func NewLogs(c Collector, s Service, level zapcore.LevelEnabler) (*Logs, error) {
	exporter, err := otlploggrpc.New(context.Background(),
		apply(c, otlploggrpc.WithEndpointURL, otlploggrpc.WithEndpoint, otlploggrpc.WithInsecure)...)
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	provider := sdk.NewLoggerProvider(sdk.WithProcessor(sdk.NewBatchProcessor(exporter)),
		sdk.WithResource(s.resource()))
	return &Logs{
		LevelEnabler: level, provider: provider, logger: provider.Logger("github.com/tollgate-gateway/tollgate"),
	}, nil
}

// Close sends the buffered lines.
func (l *Logs) Close() error { return end(l.provider) }

// With implements zapcore.Core.
func (l *Logs) With(fields []zapcore.Field) zapcore.Core {
	next := *l
	next.fields = append(append(make([]zapcore.Field, 0, len(l.fields)+len(fields)), l.fields...), fields...)
	return &next
}

// Check implements zapcore.Core.
func (l *Logs) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if l.Enabled(e.Level) {
		return checked.AddCore(e, l)
	}
	return checked
}

// severities maps the levels of zap to those of OpenTelemetry.
var severities = map[zapcore.Level]log.Severity{
	zapcore.DebugLevel: log.SeverityDebug, zapcore.InfoLevel: log.SeverityInfo,
	zapcore.WarnLevel: log.SeverityWarn, zapcore.ErrorLevel: log.SeverityError,
	zapcore.DPanicLevel: log.SeverityFatal1, zapcore.PanicLevel: log.SeverityFatal2,
	zapcore.FatalLevel: log.SeverityFatal3,
}

// Write implements zapcore.Core. If fields name a trace, the line is attached to that trace.
func (l *Logs) Write(e zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	for _, list := range [...][]zapcore.Field{l.fields, fields} {
		for i := range list {
			list[i].AddTo(encoder)
		}
	}
	var r log.Record
	r.SetTimestamp(e.Time)
	r.SetSeverity(severities[e.Level])
	r.SetSeverityText(e.Level.String())
	r.SetBody(attribute.StringValue(e.Message))
	if e.LoggerName != "" {
		r.AddAttributes(attribute.String("logger", e.LoggerName))
	}
	if e.Caller.Defined {
		r.AddAttributes(attribute.String("caller", e.Caller.TrimmedPath()))
	}
	if e.Stack != "" {
		r.AddAttributes(attribute.String("stacktrace", e.Stack))
	}
	for name, v := range encoder.Fields {
		r.AddAttributes(attribute.KeyValue{Key: attribute.Key(name), Value: value(v, maxDepth)})
	}
	l.logger.Emit(inTrace(encoder.Fields), r)
	return nil
}

// Sync implements zapcore.Core.
func (l *Logs) Sync() error { return nil } // Close sends what is buffered

// inTrace returns a context with the trace whose ids are among the fields of a log line. The fields have the names
// that this program or Caddy gives them. Without a valid trace id inTrace returns a context without a trace. It omits
// a span id that is not valid.
func inTrace(fields map[string]any) context.Context {
	ctx := context.Background()
	var config trace.SpanContextConfig
	var err error
	if config.TraceID, err = trace.TraceIDFromHex(first(fields, "trace_id", "traceID")); err != nil {
		return ctx
	}
	if config.SpanID, err = trace.SpanIDFromHex(first(fields, "span_id", "spanID")); err != nil {
		config.SpanID = trace.SpanID{}
	}
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(config))
}

// first returns the first of the named fields that is a text, or "".
func first(fields map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := fields[name].(string); ok {
			return text
		}
	}
	return ""
}

// maxDepth limits the nesting of values.
const maxDepth = 5

// value converts the value of a field to an OpenTelemetry value. depth is how many further levels of nesting are
// allowed; values that nest deeper become texts.
func value(v any, depth int) attribute.Value {
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case int:
		return attribute.IntValue(v)
	case int64:
		return attribute.Int64Value(v)
	case int32:
		return attribute.Int64Value(int64(v))
	case uint16:
		return attribute.Int64Value(int64(v))
	case uint32:
		return attribute.Int64Value(int64(v))
	case float64:
		return attribute.Float64Value(v)
	case time.Duration:
		return attribute.Float64Value(v.Seconds()) // in seconds, as Caddy writes it
	case time.Time:
		return attribute.StringValue(v.UTC().Format(time.RFC3339Nano))
	case map[string]any: // without depth, a text is returned below
		if depth > 0 {
			pairs := make([]attribute.KeyValue, 0, len(v))
			for name, member := range v {
				pairs = append(pairs, attribute.KeyValue{Key: attribute.Key(name), Value: value(member, depth-1)})
			}
			return attribute.MapValue(pairs...)
		}
	case []any:
		if depth > 0 {
			list := make([]attribute.Value, len(v))
			for i, element := range v {
				list[i] = value(element, depth-1)
			}
			return attribute.SliceValue(list...)
		}
	}
	return attribute.StringValue(fmt.Sprint(v))
}

// Interface guard
var _ zapcore.Core = (*Logs)(nil)
