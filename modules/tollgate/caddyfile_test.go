package tollgate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func init() {
	caddy.RegisterModule(new(firstRun))
}

// firstRun stands in for an option of another package.
type firstRun struct {
	URL string `json:"url"`
}

func (*firstRun) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "tollgate.first_run", New: func() caddy.Module { return new(firstRun) }}
}

func (f *firstRun) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.AllArgs(&f.URL) {
		return d.ArgErr()
	}
	return nil
}

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"tollgate":                            `{}`,
		"tollgate {\ndatabase sqlite a.db\n}": `{"database":{"engine":"sqlite","path":"a.db"}}`,
		"tollgate {\ndatabase board sqlite a.db\ndatabase sqlite b.db\n}":            `{"database":{"engine":"sqlite","path":"b.db"},"databases":{"board":{"engine":"sqlite","path":"a.db"}}}`,
		"tollgate {\ncounters memory\nkeyring aes {\nfile x\n}\n}":                   `{"counters":{"store":"memory"},"keyring":{"file":"x","ring":"aes"}}`,
		"tollgate {\nmemory 1GiB\nallow_networks 10.0.0.0/8\nallow_networks ::/0\n}": `{"memory":1073741824,"allow_networks":["10.0.0.0/8","::/0"]}`,
		"tollgate {\nfirst_run https://x\n}":                                         `{"first_run":{"url":"https://x"}}`,

		"tollgate {\nstart_wait 3s\n}": `{"start_wait":3000000000}`,

		"tollgate x":                                                      "!wrong argument count",
		"tollgate {\nlunch\n}":                                            `!unknown option "lunch"; there are: database, counters, keyring, memory, catalog, allow_networks, first_run, start_wait`,
		"tollgate {\ndatabase\n}":                                         "!wrong argument count",
		"tollgate {\ndatabase paper\n}":                                   `!there is no storage "paper"; there are: sqlite`,
		"tollgate {\ndatabase board paper x\n}":                           `!there is no storage "paper"; there are: sqlite`,
		"tollgate {\ndatabase sqlite a\ndatabase sqlite b\n}":             "!database is given twice",
		"tollgate {\ndatabase board sqlite a\ndatabase board sqlite b\n}": "!board is given twice",
		"tollgate {\ncounters\n}":                                         "!wrong argument count",
		"tollgate {\ncounters abacus\n}":                                  `!there is no counters "abacus"; there are: memory`,
		"tollgate {\nkeyring aes\nkeyring aes\n}":                         "!keyring is given twice",
		"tollgate {\nmemory\n}":                                           "!wrong argument count",
		"tollgate {\nmemory 95MiB\n}":                                     `!"95MiB" is not a size of at least 96MiB`,
		"tollgate {\nmemory 1GiB\nmemory 1GiB\n}":                         "!memory is given twice",
		"tollgate {\nallow_networks\n}":                                   "!wrong argument count",
		"tollgate {\nfirst_run\n}":                                        "!wrong argument count",
		"tollgate {\nfirst_run a\nfirst_run b\n}":                         "!first_run is given twice",
		"tollgate {\nstart_wait 0\n}":                                     `!start_wait: "0" is not a positive duration such as 10s`,
		"tollgate {\nstart_wait 1s\nstart_wait 1s\n}":                     "!start_wait is given twice",
	} {
		a := new(App)
		err := a.UnmarshalCaddyfile(caddyfile.NewTestDispenser(input))
		if refusal, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%q: error %v, want %q", input, err, refusal)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", input, err)
			continue
		}
		if got, err := json.Marshal(a); err != nil || string(got) != want {
			t.Errorf("%q: %s (%v), want %s", input, got, err, want)
		}
	}
}

// TestOption checks that an option of another package becomes the module that it loads.
func TestOption(t *testing.T) { // not parallel: see app_test.go
	t.Chdir(t.TempDir())
	a := provision(t, `{"first_run":{"url":"https://x"}}`)
	first, err := a.Option("first_run")
	if f, ok := first.(*firstRun); err != nil || !ok || f.URL != "https://x" {
		t.Fatalf("%v, %v", first, err)
	}
	if second, err := a.Option("first_run"); err != nil || second != first {
		t.Errorf("it was loaded again: %v, %v", second, err)
	}
	if none, err := a.Option("catalog"); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
	if _, err := tryProvision(t, `{"first_run":{"uri":1}}`); err == nil || !strings.Contains(err.Error(), `unknown field "uri"`) {
		t.Errorf("error %v", err)
	}
}
