package authserver_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wrong and right are passwords.
const wrong, right = "wrong horse", "correct horse"

// tries signs in with a password, and returns the answer: 303 is in, 422 is a wrong
// password, 429 is locked.
func (f *flipped) tries(email, password string) page {
	f.t.Helper()
	_, form := f.send(http.MethodGet, "/login?redirect=/", nil)
	fields := url.Values{"email": {email}, "password": {password}}
	for _, match := range field.FindAllStringSubmatch(form, -1) {
		fields.Add(match[1], match[2])
	}
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+regexp.MustCompile(`method="post" action="([^"]*)"`).FindStringSubmatch(form)[1], strings.NewReader(fields.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return f.browse(r)
}

// steps of a person at the login: w and W are a wrong password of ann and of somebody
// else, r is ann's right one, and p lets eleven minutes pass. The last status is told.
func steps(base keys, all string) func(t *testing.T, key keys) string {
	return func(t *testing.T, key keys) string {
		t.Helper()
		f, last := begin(t, base, key), 0
		for _, step := range all {
			switch step {
			case 'w':
				last = f.tries("ann@example.com", wrong).status
			case 'W':
				last = f.tries("bob@example.com", wrong).status
			case 'r':
				last = f.tries("ann@example.com", right).status
			case 'p':
				f.clock.Pass(11 * time.Minute)
			}
		}
		return strconv.Itoa(last)
	}
}

// passed is how many requests are let through until one is not, of at most 300; again is
// one more after a second.
func passed(ask func(f *flipped) int, again bool, base ...keys) func(t *testing.T, key keys) string {
	return func(t *testing.T, key keys) string {
		t.Helper()
		f, n := begin(t, append(base, key)...), 0
		for n < 300 && ask(f) == http.StatusOK {
			n++
		}
		if again {
			f.clock.Pass(time.Second)
			return strconv.Itoa(ask(f))
		}
		return strconv.Itoa(n)
	}
}

// limitFlips are of how much an address may send, and of wrong passwords.
func limitFlips() map[string]flip {
	asked := func(f *flipped) int { return f.public(http.MethodGet, "/.well-known/jwks.json", "").Code }
	slow, small := keys{"rate_limit.requests_per_second": 0.001}, keys{"rate_limit.burst": 1}
	return map[string]flip{
		"rate_limit.burst":                  {nil, 3, passed(asked, false, slow), "200", "3"},
		"rate_limit.enabled":                {nil, false, passed(asked, false, slow, small), "1", "300"},
		"rate_limit.requests_per_second":    {nil, 0.001, passed(asked, true, small), "200", "429"},
		"rate_limit.auth_fail_max":          {nil, 1, steps(nil, "wr"), "303", "429"},
		"rate_limit.auth_fail_window":       {nil, "1h", steps(keys{"rate_limit.auth_fail_max": 2}, "wpwr"), "303", "429"},
		"rate_limit.auth_lockout":           {nil, "5m", steps(keys{"rate_limit.auth_fail_max": 1}, "wpr"), "429", "303"},
		"rate_limit.max_tracked_identities": {nil, 1, steps(keys{"rate_limit.auth_fail_max": 2}, "wWwr"), "429", "303"},
	}
}
