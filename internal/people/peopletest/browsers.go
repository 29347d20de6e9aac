package peopletest

import (
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

// Site is a service at which people sign in with browsers through a provider. People with a confirmed address get an
// account.
type Site struct {
	// URL is the URL of the service, and Provider its provider.
	URL      string
	Provider *oidclogintest.Provider
	// Start is the path that begins a sign-in. Callback is the path to which the provider redirects. Inside is a path that
	// is answered with status 200 only if the browser is signed in.
	Start, Callback, Inside string
	// Claims are added to the claims of each person.
	Claims map[string]any
	// JoinsUnconfirmed reports whether people with an unverified address get an account.
	JoinsUnconfirmed bool
}

// AttackSite runs the attacks that need browsers: answers of the provider that are used twice, in another browser or
// with other claims.
func AttackSite(t *testing.T, s *Site) {
	t.Helper()
	b := func() *browser { return newBrowser(t, s) }

	// An answer of the provider can be used once.
	ann := b()
	answer := ann.begin("ann", true)
	ann.returnsWith(answer, true, "at first")
	b().returnsWith(answer, false, "in a new browser with a used answer")

	// A sign-in that one browser has begun cannot be ended by another browser.
	eve, bob := b(), b()
	answer = eve.begin("eve", true)
	bob.returnsWith(answer, false, "with the answer to another browser")
	bob.returnsWith(bob.begin("bob", true), true, "with the own answer")
	eve.returnsWith(answer, true, "with the answer that another browser tried")
	stranger := b()
	answer = stranger.begin("bob", true)
	answer.Set("state", b().begin("eve", true).Get("state"))
	stranger.returnsWith(answer, false, "with the state of another browser")
	b().returnsWith(url.Values{"code": answer["code"]}, false, "without a state")

	// Only the value true means that an address is verified; some providers write it as a text.
	for i, confirmed := range []any{
		false, "false", "True", "TRUE", "1", "yes", " true", 1, 1.0, []any{true}, map[string]any{"true": true}, nil,
	} {
		if !s.JoinsUnconfirmed {
			guest := b()
			guest.returnsWith(guest.begin("flag"+string(rune('a'+i)), confirmed), false, "with a false flag")
		}
	}
	last := b()
	last.returnsWith(last.begin("text", "true"), true, "with a flag that is a text")
}

// browser keeps the cookies of a service and follows no redirect.
type browser struct {
	*http.Client
	*Site
	t *testing.T
}

// newBrowser returns a browser without cookies.
func newBrowser(t *testing.T, s *Site) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}, s, t}
}

// get returns the status of a page, and where it redirects.
func (b *browser) get(path string) (status int, location string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.URL+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		b.t.Error(err)
	}
	return response.StatusCode, response.Header.Get("Location")
}

// begin starts the sign-in of a person with the given name, and returns the query of the answer from the provider.
// confirmed is the claim email_verified.
func (b *browser) begin(name string, confirmed any) url.Values {
	b.t.Helper()
	claims := map[string]any{"sub": "visitor-" + name, "email": "visitor-" + name + "@example.com", "email_verified": confirmed}
	maps.Copy(claims, b.Claims)
	b.Provider.Claims = claims
	_, location := b.get(b.Start)
	return b.Provider.Visit(location)
}

// returnsWith sends the query of a provider's answer to the callback. admitted says whether the browser must be signed
// in then, and situation describes the case.
func (b *browser) returnsWith(answer url.Values, admitted bool, situation string) {
	b.t.Helper()
	b.get(b.Callback + "?" + answer.Encode())
	if status, _ := b.get(b.Inside); (status == http.StatusOK) != admitted {
		b.t.Errorf("%s: the status is %d, want signed in %t", situation, status, admitted)
	}
}
