package cms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/api"
	"github.com/tollgate-gateway/tollgate/backends/cms/auth"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// The possible names of the routes file. A site has exactly one of these files.
const (
	routesPHP = "Routes.php"
	routesJS  = "Routes.js"
)

// State is the result of the last reading of the site's files.
type State struct {
	// Table is the table in use, or nil if no table has been loaded yet.
	Table    *routes.Table
	Loaded   time.Time       // when Table was read
	Warnings []*routes.Error // of the scripts that are in use
	// Failed is the error that keeps the current files from being used, or nil if they are in use.
	Failed error
}

// State returns the result of the last reading of the site's files.
func (s *Server) State() State {
	if state := s.state.Load(); state != nil {
		return *state
	}
	return State{}
}

// table returns the table in use, or nil if none has been loaded yet.
func (s *Server) table() *routes.Table { return s.State().Table }

// Reload reads the settings, routes and handler classes again. If the routes or classes have an error, the previous
// ones stay in use, and the error is returned and stored in State. Requests in progress are not affected. The routes of
// a site that is not installed are not read; see Start.
func (s *Server) Reload() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.lastFingerprint = fingerprint(s.Site) // before the files are read, so that watch notices changes from here on
	_, err := s.settings.Reload()
	next := s.State()
	if err == nil && (next.Table != nil || installed(s.Site)) {
		var table *routes.Table
		var program *script.Program
		if table, program, err = s.load(); err == nil {
			next = State{Table: table, Loaded: s.Now(), Warnings: program.Warnings()}
		}
	}
	next.Failed = err
	s.state.Store(&next)
	if s.meter.Reloaded != nil {
		s.meter.Reloaded(err == nil)
	}
	for _, warning := range next.Warnings {
		s.Logger().Warn("problem in a script of the site", zap.Error(warning))
	}
	return err
}

// load reads the routes and finds the handler classes that they name.
func (s *Server) load() (*routes.Table, *script.Program, error) {
	value, program, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	entries, err := routes.Entries(value)
	if err != nil {
		return nil, nil, err
	}
	table, err := routes.NewTable(entries, defaults(s.settings.Current()), s.resolve(program.Class))
	return table, program, err
}

// read reads the routes file and loads the scripts that the routes file requires. It returns the value of the routes
// file and the loaded scripts.
func (s *Server) read() (routes.Value, *script.Program, error) {
	engine := s.scripts
	php, js := filepath.Join(s.Site, apiFolder, routesPHP), filepath.Join(s.Site, apiFolder, routesJS)
	switch {
	case exists(php) && exists(js):
		return routes.Value{}, nil, fmt.Errorf("%s/%s: the site also has %s: remove one of the two files",
			apiFolder, routesJS, routesPHP)
	case exists(js):
		return engine.LoadTable()
	}
	text, err := os.ReadFile(php)
	if err != nil {
		return routes.Value{}, nil, fmt.Errorf("reading the routes: %w", err)
	}
	file, err := routes.Read(apiFolder+"/"+routesPHP, text)
	if err != nil {
		return routes.Value{}, nil, err
	}
	names := make([]string, len(file.Requires))
	for i, require := range file.Requires {
		if names[i] = require.Path; !exists(filepath.Join(s.Site, filepath.FromSlash(require.Path))) {
			return routes.Value{}, nil, &routes.Error{At: require.At, Message: "there is no file " + require.Path}
		}
	}
	program, err := engine.Load(names...)
	return file.Routes, program, err
}

// resolve returns a function that finds the method for an entry of the routes file. This function uses the class that
// findClass finds among the site's classes, or else a registered Go class.
func (s *Server) resolve(findClass func(name string) (handler.Class, bool)) routes.Resolve {
	classes := make(map[string]handler.Class) // the classes found so far
	contentMethods := api.Content{Pages: s.content, Files: s.files, Webhooks: s.Webhooks()}.Methods()
	return func(e routes.Entry) (handler.Func, error) {
		if e.At.File == "" { // one of the default routes
			if e.Class == api.ContentClass {
				return contentMethods[e.Func], nil
			}
			return defaultMethods[e.Func], nil
		}
		foundClass, ok := classes[e.Class]
		if !ok {
			if foundClass, ok = findClass(e.Class); !ok {
				foundClass, ok = handler.Registered(e.Class)
			}
			if !ok && e.Class == helperClass {
				foundClass, ok = handler.Class{Methods: helperMethods}, true
			}
			if !ok {
				return nil, fmt.Errorf("handler class %s is not loaded", e.Class)
			}
			classes[e.Class] = foundClass
		}
		method, ok := foundClass.Methods[e.Func]
		if !ok {
			return nil, fmt.Errorf("handler class %s has no method %s", e.Class, e.Func)
		}
		return method, nil
	}
}

// helperClass is the name of a built-in class whose methods every site may use in its routes.
const helperClass = "RestApiHelper"

// helperMethods are the methods of helperClass.
var helperMethods = map[string]handler.Func{
	"noEndPoint": func(context.Context, *handler.Call) (any, error) { return "no endpoint defined", nil },
	// The answer needs no value, because the API sets the CORS headers.
	"preflight": func(context.Context, *handler.Call) (any, error) { return nil, nil },
}

// defaultMethods are the methods of the default routes, except those of the content API.
var defaultMethods = map[string]handler.Func{
	"noEndPoint": helperMethods["noEndPoint"], "preflight": helperMethods["preflight"],
	auth.Login: calledByAPI, auth.Logout: calledByAPI, auth.Access: calledByAPI,
}

// calledByAPI always returns an error. It is a placeholder for the methods of /auth, which the API calls directly.
func calledByAPI(context.Context, *handler.Call) (any, error) {
	return nil, errors.New("cms: the methods of /auth need an auth.Call")
}

// defaults returns the routes that every site has in addition to its own.
func defaults(current *settings.Settings) []routes.Entry {
	public := routes.Defaults()
	public.Auth = false
	list := []routes.Entry{
		{Method: "*", Class: helperClass, Func: "noEndPoint", Options: public},
		{Method: "OPTIONS", Endpoint: "auth", Class: helperClass, Func: "preflight", Options: public},
		{Method: "POST", Endpoint: "auth", Class: auth.Class, Func: auth.Login, Options: public},
		{Method: "DELETE", Endpoint: "auth", Class: auth.Class, Func: auth.Logout, Options: public},
	}
	if current.JWTRefresh {
		list = append(list, routes.Entry{
			Method: "POST", Endpoint: "auth/access", Class: auth.Class, Func: auth.Access,
			Options: public,
		})
	}
	return append(list, api.ContentRoutes(current.ContentMode())...)
}

// logFailure logs the error that keeps the changed files from being used.
func (s *Server) logFailure(err error) {
	fields := []zap.Field{zap.Error(err)}
	if located, ok := errors.AsType[*routes.Error](err); ok {
		fields = append(fields, zap.String("file", located.At.File), zap.Int("line", located.At.Line),
			zap.Int("column", located.At.Column))
	}
	s.Logger().Error("the changed files are not in use; the previous routes stay in use", fields...)
}

// scriptSettings returns the settings that scripts may read, by name.
func (s *Server) scriptSettings() map[string]any {
	current := s.settings.Current()
	return map[string]any{"endpoint": current.Mount(), "auth": current.Mode(), "debug": current.Debug}
}

// hosts returns the hosts to which scripts may send requests.
func (s *Server) hosts() []string { return s.settings.Current().FetchHosts }
