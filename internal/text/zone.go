package text

import (
	_ "embed"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without time zone files
)

//go:embed zones.txt
var zoneNames string

// Zones returns the names of the time zones that forms offer: those of each country, and UTC. Zone also accepts others.
var Zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// ErrZone means that there is no time zone with a name.
var ErrZone = errors.New("this is not the name of a time zone such as Europe/Vienna")

// maxZone is the limit for the name of a time zone, in bytes.
const maxZone = 64

// zones caches loaded time zones by name. It cannot grow beyond the number of zone files, because each has only one
// name.
var zones sync.Map

// Zone returns the time zone with an IANA name. If there is no such zone the error is ErrZone.
func Zone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if !isZone(name) {
		return nil, ErrZone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, ErrZone
	}
	zones.Store(name, zone)
	return zone, nil
}

// isZone reports whether a name may be loaded. It excludes some names that the library accepts: the server's own zone
// (which means nothing to the reader), other spellings of a path, and the duplicates of all zones with and without leap
// seconds.
func isZone(name string) bool {
	return len(name) <= maxZone && fs.ValidPath(name) && name != "." && name != "Local" && name != "localtime" &&
		!strings.HasPrefix(name, "posix/") && !strings.HasPrefix(name, "right/")
}
