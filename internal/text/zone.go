package text

import (
	_ "embed"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines that have none
)

//go:embed zones.txt
var zoneNames string

// Zones are the names of time zones that forms offer: of each country's, and UTC.
// Zone takes others, too.
var Zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// ErrZone is of a name that no time zone has.
var ErrZone = errors.New("this is not the name of a time zone such as Europe/Vienna")

// zoneMost bounds the name of a time zone, in bytes.
const zoneMost = 64

// zones are those that were asked for, by name. There are no more than files of
// zones, each under one name.
var zones sync.Map

// Zone finds a time zone by its IANA name. Its error is ErrZone.
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

// isZone leaves out what the library takes besides: the server's own zone, which is
// nothing to the reader, other spellings of a path, and the zones once more without and
// with leap seconds.
func isZone(name string) bool {
	return len(name) <= zoneMost && fs.ValidPath(name) && name != "." && name != "Local" && name != "localtime" &&
		!strings.HasPrefix(name, "posix/") && !strings.HasPrefix(name, "right/")
}
