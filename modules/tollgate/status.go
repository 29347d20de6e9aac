package tollgate

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// processStart is when the process started.
var processStart = time.Now()

// StartTimes returns when the process started, and when the configuration was loaded.
func (a *App) StartTimes() (process, configuration time.Time) { return processStart, a.loaded }

// ServedDatabase is a database with the services that use it.
type ServedDatabase struct {
	DB       *store.DB
	Services []string // sorted
}

// ServedDatabases returns the databases of all services. Databases with more services come first.
func (a *App) ServedDatabases() (list []ServedDatabase) {
	for _, service := range slices.Sorted(maps.Keys(a.served)) {
		i := slices.IndexFunc(list, func(s ServedDatabase) bool { return s.DB == a.served[service] })
		if i < 0 {
			list = append(list, ServedDatabase{DB: a.served[service]})
			i = len(list) - 1
		}
		list[i].Services = append(list[i].Services, service)
	}
	slices.SortStableFunc(list, func(s, t ServedDatabase) int { return len(t.Services) - len(s.Services) })
	return list
}

// backupFile is the name of the file with the record of the last backup, in the keyring's folder.
const backupFile = "last-backup.json"

// Backup is the record of a backup.
type Backup struct {
	At     time.Time `json:"at"` // everything that was acknowledged before is included
	Folder string    `json:"folder"`
}

// NoteBackup records that a backup was made on this machine.
func (a *App) NoteBackup(b Backup) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(a.dir, backupFile)
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// LastBackup returns the record of the last backup. It returns ok as false if there is no record.
func (a *App) LastBackup() (b Backup, ok bool) {
	text, err := os.ReadFile(filepath.Join(a.dir, backupFile))
	return b, err == nil && json.Unmarshal(text, &b) == nil
}
