package tollgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/backup"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// commonDatabase is the name of the common database in a backup.
const commonDatabase = "common"

// State returns the stored data of the configuration, for a backup: the databases, the key file, and the folders of
// services.
func (a *App) State() (s backup.State, err error) {
	if s.Databases, err = a.databases(); err != nil {
		return s, err
	}
	s.Schemas = []store.Schema{sealed.Schema()}
	for _, name := range Services() {
		s.Schemas = append(s.Schemas, registered[name].Schemas...)
	}
	if maker, ok := a.ring.(keyMaker); ok {
		s.KeyFile = maker.KeyFile(a.dir)
	}
	s.Folders, err = a.folders()
	return s, err
}

// databases returns all databases of the configuration, each once. They are not started; release closes them.
func (a *App) databases() (list []backup.Database, err error) {
	seen := make(map[any]bool)
	add := func(name string, storage Storage) error {
		if seen[storage.Key()] {
			return nil
		}
		seen[storage.Key()] = true
		db, err := newDatabase(storage, a.logger)
		if err != nil {
			return fmt.Errorf("database %s: %w", name, err)
		}
		a.leases = append(a.leases, db.Close)
		list = append(list, backup.Database{Name: name, DB: db})
		return nil
	}
	err = add(commonDatabase, a.common)
	for _, name := range slices.Sorted(maps.Keys(a.named)) {
		if err == nil {
			err = add(name, a.named[name].(Storage))
		}
	}
	return list, err
}

// Existing returns a state without the files that do not exist. A missing database file is an error, unless it is the
// default common database and the services have other databases.
func (a *App) Existing(s backup.State) (backup.State, error) {
	var existing []backup.Database
	for _, d := range s.Databases {
		file := d.DB.File()
		if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) { // file is empty on PostgreSQL
			if d.Name == commonDatabase && !a.commonNamed && len(s.Databases) > 1 {
				continue
			}
			return s, noDatabase(file)
		}
		existing = append(existing, d)
	}
	s.Databases = existing
	if s.KeyFile != "" {
		if _, err := os.Stat(s.KeyFile); errors.Is(err, fs.ErrNotExist) {
			s.KeyFile = ""
		}
	}
	return s, nil
}

// FilesFolder returns the folder in which the handlers of a service store files, or "" if they store no files in a
// folder.
func (a *App) FilesFolder(service string) (string, error) {
	folders, err := a.folders()
	return folders[service], err
}

// folders returns the folders in which services store files, by service.
func (a *App) folders() (map[string]string, error) {
	folders := make(map[string]string)
	for _, name := range Services() {
		service := registered[name]
		if service.Folder == nil {
			continue
		}
		err := a.handlers(service, func(handler json.RawMessage) error {
			folder, err := service.Folder(a, handler)
			if err != nil || folder == "" {
				return err
			}
			if previous := folders[name]; previous != "" && previous != folder {
				return fmt.Errorf("the service %s keeps files in two folders, %s and %s", name, previous, folder)
			}
			folders[name] = folder
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return folders, nil
}

// WithoutKeys returns a state without the master key and without the folders that contain services' secret keys.
func WithoutKeys(s backup.State) backup.State {
	s.KeyFile, s.Folders = "", maps.Clone(s.Folders)
	maps.DeleteFunc(s.Folders, func(service, _ string) bool { return registered[service].Keys })
	return s
}

// ConfigJSON returns the configuration that a command works on, as JSON.
func (a *App) ConfigJSON() json.RawMessage {
	if a.config == nil {
		return json.RawMessage("{}")
	}
	return a.config
}

// Handlers calls fn with the JSON of each handler of a service in the configuration that a command works on.
func (a *App) Handlers(service string, fn func(handler json.RawMessage) error) error {
	return a.handlers(registered[service], fn)
}

// handlers works like Handlers, for a registered service.
func (a *App) handlers(service *Service, fn func(handler json.RawMessage) error) error {
	var config any
	if err := json.Unmarshal(a.ConfigJSON(), &config); err != nil {
		return err
	}
	return forEachHandler(config, service.Handlers, fn)
}

// forEachHandler calls fn with the JSON of each handler in config, at any depth, whose name is in names. config is
// decoded JSON.
func forEachHandler(config any, names []string, fn func(handler json.RawMessage) error) error {
	switch config := config.(type) {
	case []any:
		for _, value := range config {
			if err := forEachHandler(value, names, fn); err != nil {
				return err
			}
		}
	case map[string]any:
		if name, _ := config["handler"].(string); slices.Contains(names, name) {
			text, err := json.Marshal(config)
			if err == nil {
				err = fn(text)
			}
			if err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(config)) {
			if err := forEachHandler(config[key], names, fn); err != nil {
				return err
			}
		}
	}
	return nil
}
