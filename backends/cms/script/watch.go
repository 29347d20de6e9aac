package script

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"
)

const (
	// looksEvery is how often the files are looked at.
	looksEvery = 250 * time.Millisecond
	// quiet is how long nothing may change before what has changed is told.
	quiet = 500 * time.Millisecond
	// maxWatched bounds the files that are looked at.
	maxWatched = 10_000
)

// Watch tells when files of code in a site have changed and been left alone for 500 ms,
// until ctx ends. Files are looked at four times a second, which works on every file
// system; there are few of them.
func Watch(ctx context.Context, site string, changed func()) {
	ticker := time.NewTicker(looksEvery)
	defer ticker.Stop()
	told := stamps(site)
	last, since := told, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := stamps(site)
		if !maps.Equal(now, last) {
			last, since = now, time.Now()
			continue
		}
		if !maps.Equal(last, told) && time.Since(since) >= quiet {
			told = last
			changed()
		}
	}
}

// stamp changes when a file does.
type stamp struct {
	size int64
	at   time.Time
}

// stamps are those of the files that may be code.
func stamps(site string) map[string]stamp {
	found := make(map[string]stamp)
	_ = filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error { // what cannot be read is not there
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path == site:
			case strings.HasPrefix(name, "."), name == "node_modules", filepath.Dir(path) == site && (name == "files" || name == "cache"):
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".js", ".json", ".php":
		default:
			return nil
		}
		if d.Name() == "config.json" && filepath.Dir(path) == site { // the settings
			return nil
		}
		if info, err := d.Info(); err == nil {
			found[path] = stamp{info.Size(), info.ModTime().Round(0)}
		}
		if len(found) >= maxWatched {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}
