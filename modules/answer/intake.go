package answer

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/backends/answer/intake"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// Watch is a folder whose files are ingested when they appear and when they change, as `tollgate answer ingest` does.
// Subfolders are included. A file is read once it has been unchanged for one interval.
type Watch struct {
	// Folder is the path of the folder, relative to the working directory.
	Folder string `json:"folder,omitempty"`

	// Every is the interval at which the folder is checked, from 1s to 24h. Default: 30s.
	Every caddy.Duration `json:"every,omitempty"`

	// Remove removes the documents of a file that has disappeared. Default: they stay.
	Remove bool `json:"remove,omitempty"`
}

// Fetch is a text file with one address per line; comments begin with #. The documents at the addresses are ingested.
type Fetch struct {
	// File is the path of the file, relative to the working directory. The file may change at any time.
	File string `json:"file,omitempty"`

	// Every is the interval at which each address is fetched again, from 1m to a year. Default: 24h.
	Every caddy.Duration `json:"every,omitempty"`
}

// The default intervals of Watch and Fetch.
const (
	watchEvery = caddy.Duration(30 * time.Second)
	fetchEvery = caddy.Duration(24 * time.Hour)
)

// unmarshalWatch reads
//
//	watch <folder> {
//		every <duration>
//		remove
//	}
func (h *Handler) unmarshalWatch(d *caddyfile.Dispenser) error {
	h.Watch = new(Watch)
	if !d.AllArgs(&h.Watch.Folder) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		switch option {
		case "every":
			return directive.Duration(d, &h.Watch.Every, "30s")
		case "remove":
			return directive.Flag(d, &h.Watch.Remove)
		}
		return directive.NoOption(d, "watch has no option %q; there are: every, remove", option)
	})
}

// unmarshalFetch reads
//
//	fetch <file> {
//		every <duration>
//	}
func (h *Handler) unmarshalFetch(d *caddyfile.Dispenser) error {
	h.Fetch = new(Fetch)
	if !d.AllArgs(&h.Fetch.File) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		if option != "every" {
			return directive.NoOption(d, "fetch has no option %q; there is: every", option)
		}
		return directive.Duration(d, &h.Fetch.Every, "30s")
	})
}

// validateIntake checks the options of Watch and Fetch.
func (h *Handler) validateIntake() error {
	if w := h.Watch; w != nil {
		if w.Folder == "" {
			return errors.New("watch: folder is missing")
		}
		if w.Every != 0 && (w.Every < caddy.Duration(time.Second) || w.Every > caddy.Duration(24*time.Hour)) {
			return errors.New("watch: every must be from 1s to 24h")
		}
	}
	if f := h.Fetch; f != nil {
		if f.File == "" {
			return errors.New("fetch: file is missing")
		}
		if f.Every != 0 && (f.Every < caddy.Duration(time.Minute) || f.Every > caddy.Duration(365*24*time.Hour)) {
			return errors.New("fetch: every must be from 1m to 365 days")
		}
	}
	return nil
}

// provisionWatch returns the watched folder, or nil if no folder is configured. It does not access the folder.
func (h *Handler) provisionWatch() (*answer.Watch, error) {
	if h.Watch == nil {
		return nil, nil // there is none
	}
	path, err := absolutePath("watch", h.Watch.Folder)
	if err != nil {
		return nil, err
	}
	return &answer.Watch{Path: path, Every: time.Duration(cmp.Or(h.Watch.Every, watchEvery)), Remove: h.Watch.Remove}, nil
}

// provisionFetch returns the list of addresses, or nil if no list is configured. It does not read the file.
func (h *Handler) provisionFetch() (*answer.Fetch, error) {
	if h.Fetch == nil {
		return nil, nil // there is none
	}
	path, err := absolutePath("fetch", h.Fetch.File)
	if err != nil {
		return nil, err
	}
	return &answer.Fetch{
		Path: path, Every: time.Duration(cmp.Or(h.Fetch.Every, fetchEvery)),
		Client: outbound.NewClient(h.app.AllowedNetworks(), intake.FetchTimeout),
	}, nil
}

// absolutePath resolves the placeholders in the path of an option and makes it absolute. option is the option's name
// for errors.
func absolutePath(option, path string) (string, error) {
	if err := resolve(option, &path); err != nil {
		return "", err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", option, err)
	}
	return path, nil
}
