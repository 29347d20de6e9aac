package apiauth

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// warnOfShownKeys logs a warning if an access log of the server shows the header X-Api-Key. Caddy copies each request
// for its logs before any handler runs, so only a filter of the log itself can remove the header.
func warnOfShownKeys(ctx caddy.Context) {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok || server.Logs == nil {
		return
	}
	names := make(map[string]bool)
	if !server.Logs.SkipUnmappedHosts {
		names[server.Logs.DefaultLoggerName] = true
	}
	for _, hostLogs := range server.Logs.LoggerNames {
		for _, name := range hostLogs {
			names[name] = true
		}
	}
	for name := range names {
		if showsKeys(ctx.Logger(accessLog(name)).Core()) {
			ctx.Logger().Warn("the access log may show gateway keys that clients send as X-Api-Key; " +
				"give the global option log this line: format filter { request>headers>X-Api-Key delete }")
			return
		}
	}
}

// accessLog is the name of an access log. It implements caddy.Module because ctx.Logger takes a module. For a module
// whose id is that of the access log, ctx.Logger returns a logger that writes to the outputs of the access log.
type accessLog string

// CaddyModule returns module information with the name of the log as the id.
func (l accessLog) CaddyModule() caddy.ModuleInfo {
	id := "http.log.access"
	if l != "" {
		id += "." + string(l)
	}
	return caddy.ModuleInfo{ID: caddy.ModuleID(id)}
}

// showsKeys reports whether a log shows the header X-Api-Key of requests. It makes the log encode a request, without
// writing it, and finds out whether the encoder reads the values of the header. Filters that delete or replace the
// header do not read them.
func showsKeys(core zapcore.Core) (shown bool) {
	if !core.Enabled(zapcore.ErrorLevel) { // the log shows no requests: their highest level is error
		return false
	}
	values := zapcore.ArrayMarshalerFunc(func(zapcore.ArrayEncoder) error {
		shown = true
		return nil
	})
	headers := zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
		return enc.AddArray("X-Api-Key", values)
	})
	core.With([]zap.Field{zap.Object("request", zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
		return enc.AddObject("headers", headers)
	}))})
	return shown
}
