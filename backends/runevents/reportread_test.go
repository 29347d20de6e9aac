package runevents

import (
	"strings"
	"testing"
)

// TestLineNumbersAre32Bits checks that lines are limited to 32 bits, so that sums of them fit into 64 bits.
func TestLineNumbersAre32Bits(t *testing.T) {
	t.Parallel()
	const event = `"resource_events":[{"status":"success","timestamp":"2026-03-02T10:00:02.000Z","resource_type":"File","resource_title":"/a","line":7}]`
	five := string(minimalReport(`"producer":null,`, "", `"noop_pending":false,`, "", `"corrective_change":null,`, "", `"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,`, ""))
	start, end := strings.Index(five, `"resources":`), strings.Index(five, `,"metrics"`)
	five = five[:start] + event + five[end:]
	for name, c := range map[string]struct {
		version      int
		body, member string
	}{
		"resource":       {8, string(minimalReport(`"file":null,"line":null`, `"file":null,"line":7`)), `"line":7`},
		"resource event": {5, five, `"line":7`},
		"log":            {8, string(minimalReport(`"logs":[]`, `"logs":[{"level":"info","message":"m","source":"P","tags":[],"time":"2026-03-02T10:00:00Z","line":7}]`)), `"line":7`},
		"format":         {8, string(minimalReport()), `"report_format":12`},
	} {
		key, _, _ := strings.Cut(c.member, ":")
		for number, valid := range map[string]bool{
			"7": true, "0": true, "2147483647": true, "-2147483648": true,
			"2147483648": false, "-2147483649": false, "9223372036854775807": false, "9223372036854775808": false, "1.5": false, `"7"`: false,
		} {
			_, err := parseReport(c.version, []byte(strings.Replace(c.body, c.member, key+":"+number, 1)), 0)
			if (err == nil) != valid {
				t.Errorf("%s %s: %v", name, number, err)
			}
			if strings.HasPrefix(number, "21474836") && err != nil && !strings.Contains(err.Error(), "a whole number from -2147483648 to 2147483647 is expected at byte ") {
				t.Errorf("%s %s: %v", name, number, err)
			}
		}
	}
}
