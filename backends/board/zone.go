package board

import (
	_ "embed"
	"io/fs"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines that have none
)

//go:embed zones.txt
var zoneNames string

// ZoneNames are those of time zones that forms offer: of each country's, and
// UTC. Others are taken, too.
var ZoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// zoneMost bounds the name of a time zone, in bytes.
const zoneMost = 64

// zones are those that were asked for, by name. There are no more than files of
// zones, each under one name.
var zones sync.Map

// loadZone finds a time zone by its IANA name.
func loadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	unknown := invalid("timeZone", "unknown", "this is not the name of a time zone such as Europe/Vienna")
	if !isZoneName(name) {
		return nil, unknown
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknown
	}
	zones.Store(name, zone)
	return zone, nil
}

// isZoneName leaves out what the library takes besides: the server's own zone, which is
// nothing to the member, other spellings of a path, and the zones once more without and
// with leap seconds.
func isZoneName(name string) bool {
	return len(name) <= zoneMost && fs.ValidPath(name) && name != "." && name != "Local" && name != "localtime" &&
		!strings.HasPrefix(name, "posix/") && !strings.HasPrefix(name, "right/")
}

// Zone is the time zone in which the member sees times; that of guests is UTC.
func (u *User) Zone() *time.Location {
	if u == nil {
		return time.UTC
	}
	zone, err := loadZone(u.TimeZone)
	if err != nil { // it has gone
		return time.UTC
	}
	return zone
}
