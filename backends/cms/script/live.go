package script

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
)

// Loaded is what a site's files gave when they were good.
type Loaded struct {
	Table    *routes.Table
	Site     *Site
	Warnings []*routes.Error
	At       time.Time
}

// Live is the site as it is answered from. Who took a Loaded goes on with it while the
// next one takes its place.
type Live struct {
	engine   *Engine
	defaults []routes.Entry
	resolve  routes.Resolve

	reloading sync.Mutex
	current   atomic.Pointer[Loaded]
	failed    atomic.Pointer[failure]
}

type failure struct{ err error }

// NewLive is a site that is not loaded yet. defaults are the routes that every site has,
// and resolve finds their methods; nil: there are none.
func NewLive(e *Engine, defaults []routes.Entry, resolve routes.Resolve) *Live {
	return &Live{engine: e, defaults: defaults, resolve: resolve}
}

// Reload loads the files as they are now. Where they are not good, what was loaded
// before stays, and Err tells why.
func (l *Live) Reload() error {
	l.reloading.Lock()
	defer l.reloading.Unlock()
	loaded, err := l.load()
	if err != nil {
		l.failed.Store(&failure{err})
		return err
	}
	l.current.Store(loaded)
	l.failed.Store(nil)
	return nil
}

func (l *Live) load() (*Loaded, error) {
	site, err := l.engine.LoadSite()
	if err != nil {
		return nil, err
	}
	table, err := routes.NewTable(site.Entries, l.defaults, func(e routes.Entry) (handler.Func, error) {
		if e.At.File == "" && l.resolve != nil { // of no file: a default
			return l.resolve(e)
		}
		return site.Resolve(e)
	})
	if err != nil {
		return nil, err
	}
	return &Loaded{Table: table, Site: site, Warnings: site.Program.Warnings(), At: l.engine.Now()}, nil
}

// Current is what requests are answered from; nil: nothing was good yet.
func (l *Live) Current() *Loaded { return l.current.Load() }

// Err is why the files as they are now are not what requests are answered from; nil:
// they are.
func (l *Live) Err() error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// Run reloads when files have changed, until ctx ends. told hears of each time; nil:
// nobody does. Errors and warnings are logged.
func (l *Live) Run(ctx context.Context, told func(error)) {
	Watch(ctx, l.engine.Site, func() {
		err := l.Reload()
		logger := l.engine.Logger()
		if err != nil {
			logger.Error("the site's files are not good: the old ones stay in use", zap.Error(err))
		} else {
			loaded := l.Current()
			logger.Info("the site's files were loaded", zap.Int("routes", len(loaded.Site.Entries)))
			for _, warning := range loaded.Warnings {
				logger.Warn("in the site's files", zap.Error(warning))
			}
		}
		if told != nil {
			told(err)
		}
	})
}
