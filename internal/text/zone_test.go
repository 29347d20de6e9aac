package text

import (
	"errors"
	"strings"
	"testing"
)

func TestZones(t *testing.T) {
	t.Parallel()
	for _, name := range Zones() {
		if _, err := Zone(name); err != nil {
			t.Errorf("%s is offered: %v", name, err)
		}
	}
	if len(Zones()) < 300 || Zones()[0] != "UTC" {
		t.Errorf("%d zones are offered, %s first", len(Zones()), Zones()[0])
	}
	for name, good := range map[string]bool{
		"Europe/Vienna": true, "Asia/Kolkata": true, "US/Eastern": true, "UTC": true,
		"Local": false, "localtime": false, "right/Europe/Vienna": false, "posix/Europe/Vienna": false, "Europe//Vienna": false, "Europe/./Vienna": false, "./UTC": false, ".": false, "europe/nowhere": false, "../etc/passwd": false, "/etc/localtime": false, `..\x`: false, "Europe": false, "UTC\x00": false,
		strings.Repeat("a/", 4000): false,
	} {
		zone, err := Zone(name)
		if good != (err == nil) || err != nil && !errors.Is(err, ErrZone) || err == nil && zone.String() != name {
			t.Errorf("%q: %v, %v", name, zone, err)
		}
	}
}
