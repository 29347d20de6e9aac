package documents_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/outbound/outboundtest"
)

// here are the networks of the test sites.
var here = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// site starts a site that responds with the text that serve returns, in which %s is replaced by the URL.
func site(t *testing.T, serve func(w http.ResponseWriter, r *http.Request) string) string {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if text := serve(w, r); text != "" {
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "%s", s.URL+r.URL.Path))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func newDocuments(t *testing.T, o documents.Options) (*documents.Documents, authtest.Kernel) {
	t.Helper()
	k := authtest.SQLite(t)
	o.HTTP = true
	return documents.New(k.Server, o), k
}

// is reports whether an error is a refusal with a code, or, if the code is empty, ErrUnavailable.
func is(err error, code string) bool {
	if code == "" {
		return errors.Is(err, documents.ErrUnavailable)
	}
	refusal, ok := apierror.From(err)
	return ok && refusal.Code == code
}

func TestURLs(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is fetched
	strict, loose := documents.New(k.Server, documents.Options{}), documents.New(k.Server, documents.Options{HTTP: true})
	for i, url := range []string{
		"https://%s/c", "https://%s/a/b.json", "https://%s:8443/c", "https://%s/c?v=1", "https://%s/c?v=/../", "https://[2606:4700::%d]/c", "https://%s/%41", "https://%s./c", "HTTPS",
	} {
		url = strings.ReplaceAll(strings.ReplaceAll(url, "%s", fmt.Sprintf("c%d.example", i)), "%d", strconv.Itoa(i))
		if url == "HTTPS" {
			if documents.IsURL("HTTPS://c.example/c") || documents.IsURL("abc") || !documents.IsURL("http://c.example/") {
				t.Error("IsURL")
			}
			continue
		}
		if _, err := strict.Fetch(ctx, url); !is(err, "") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"https://c.example", "https://c.example/", "https://c.example//", "https://c.example/a//b", "https://c.example/a/", "https://c.example/./a", "https://c.example/a/..",
		"https://c.example/%2e%2E/a", "https://c.example/a#", "https://c.example/a#b", "https://ann@c.example/a", "https://ann:x@c.example/a", "https://@c.example/a",
		"https://c.example:/a", "https://c.example:0/a", "https://c.example:65536/a", "https://c.example:x/a", "https://[::1/a", "https:///a", "https://:443/a", "https://?x/a",
		"https://c.example?x=/a", "https://c%2eexample/a", "https://ć.example/a", "https://c.example/ć", "https://c.example\\@d.example/a", "https://c.example/a b", "https://c.example/\t",
		"https://c.example/\x00", "https://c.example/" + strings.Repeat("a", 2048), "http://c.example/a", "https://c.example/%zz", "https://c.example/a\n",
	} {
		if _, err := strict.Fetch(ctx, url); !is(err, kernel.InvalidClient) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := loose.Fetch(ctx, "http://c.example/a"); !is(err, "") {
		t.Errorf("http: %v", err)
	}
}

// TestHosts checks that no client_id leads to a private network. The addresses of names are covered by the tests of
// package outbound.
func TestHosts(t *testing.T) {
	t.Parallel()
	d, _ := newDocuments(t, documents.Options{Timeout: 5 * time.Second})
	for _, host := range outboundtest.Hosts {
		name := host
		if hostname, _, err := net.SplitHostPort(host); err == nil {
			name = hostname
		}
		if strings.HasSuffix(strings.TrimSuffix(name, "."), ".test") {
			continue
		}
		for _, scheme := range []string{"http", "https"} {
			found, err := d.Fetch(t.Context(), scheme+"://"+host+"/c")
			if refused := errors.Is(err, outbound.ErrNotAllowed); found != nil || !refused && !is(err, kernel.InvalidClient) && !is(err, kernel.Unavailable) && !is(err, "") {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	elsewhere := site(t, func(http.ResponseWriter, *http.Request) string {
		t.Error("a site of this machine was asked")
		return ""
	})
	if _, err := d.Fetch(t.Context(), elsewhere+"/c"); !errors.Is(err, outbound.ErrNotAllowed) || !is(err, "") {
		t.Errorf("error %v", err)
	}
}

func TestFetchResponses(t *testing.T) {
	t.Parallel()
	const good = `{"client_id":"%s","client_name":"C"}`
	for name, test := range map[string]struct {
		serve func(w http.ResponseWriter) string
		code  string // "-": the document is accepted
	}{
		"good": {func(http.ResponseWriter) string { return good }, "-"},
		"charset": {func(w http.ResponseWriter) string {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			return good
		}, "-"},
		"+json": {func(w http.ResponseWriter) string {
			w.Header().Set("Content-Type", "application/cimd+json")
			return good
		}, "-"},
		"5 KiB": {func(http.ResponseWriter) string { return good + strings.Repeat(" ", 5000) }, "-"},
		"large": {func(http.ResponseWriter) string { return good + strings.Repeat(" ", 5<<10) }, ""},
		"large, in parts": {func(w http.ResponseWriter) string {
			_ = http.NewResponseController(w).Flush()
			return good + strings.Repeat(" ", 5<<10)
		}, ""},
		"html":        {func(w http.ResponseWriter) string { w.Header().Set("Content-Type", "text/html"); return good }, ""},
		"text/x+json": {func(w http.ResponseWriter) string { w.Header().Set("Content-Type", "text/x+json"); return good }, ""},
		"no type":     {func(w http.ResponseWriter) string { w.Header().Set("Content-Type", ""); return good }, ""},
		"404":         {func(w http.ResponseWriter) string { w.WriteHeader(404); return good }, ""},
		"201":         {func(w http.ResponseWriter) string { w.WriteHeader(201); return good }, ""},
		"redirect": {func(w http.ResponseWriter) string {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
			return good
		}, ""},
		"packed":       {func(w http.ResponseWriter) string { w.Header().Set("Content-Encoding", "gzip"); return "\x1f\x8b" }, ""},
		"no JSON":      {func(http.ResponseWriter) string { return good + "}" }, ""},
		"a list":       {func(http.ResponseWriter) string { return `["%s"]` }, ""},
		"null":         {func(http.ResponseWriter) string { return `null` }, ""},
		"deep":         {func(http.ResponseWriter) string { return strings.Repeat("[", 5000) }, ""},
		"no client_id": {func(http.ResponseWriter) string { return `{"client_name":"C"}` }, ""},
		"another":      {func(http.ResponseWriter) string { return `{"client_id":"%s/"}` }, ""},
		"capitals":     {func(http.ResponseWriter) string { return `{"CLIENT_ID":"%s"}` }, ""},
		"a number":     {func(http.ResponseWriter) string { return `{"client_id":1}` }, ""},
		"a secret":     {func(http.ResponseWriter) string { return `{"client_id":"%s","client_secret":"x"}` }, kernel.InvalidClient},
		"an expiry":    {func(http.ResponseWriter) string { return `{"client_id":"%s","client_secret_expires_at":0}` }, kernel.InvalidClient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := newDocuments(t, documents.Options{Networks: here})
			requests := 0
			baseURL := site(t, func(w http.ResponseWriter, r *http.Request) string {
				if requests++; r.Header.Get("Accept") != "application/json" || r.Method != http.MethodGet || r.Header.Get("Cookie") != "" {
					t.Errorf("%s %v", r.Method, r.Header)
				}
				return test.serve(w)
			})
			found, err := d.Fetch(t.Context(), baseURL+"/c")
			if requests != 1 {
				t.Errorf("asked %d times", requests)
			}
			if test.code == "-" && (err != nil || !strings.HasPrefix(string(found.Text), "{")) || test.code != "-" && !is(err, test.code) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	httpDate := func(d time.Duration) string { return date.Add(d).Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		header []string
		want   time.Duration
	}{
		"nothing":       {nil, time.Hour},
		"max-age":       {[]string{"Cache-Control", "public, Max-Age=600"}, 10 * time.Minute},
		"quoted":        {[]string{"Cache-Control", `max-age="600"`}, 10 * time.Minute},
		"aged":          {[]string{"Cache-Control", "max-age=600", "Age", "300"}, 5 * time.Minute},
		"long":          {[]string{"Cache-Control", "max-age=86400"}, time.Hour},
		"short":         {[]string{"Cache-Control", "max-age=1"}, time.Minute},
		"past its age":  {[]string{"Cache-Control", "max-age=600", "Age", "6000"}, time.Minute},
		"nonsense":      {[]string{"Cache-Control", "max-age=-1"}, time.Minute},
		"overflow":      {[]string{"Cache-Control", "max-age=99999999999999999999"}, time.Minute},
		"no-cache":      {[]string{"Cache-Control", "no-cache, max-age=600"}, time.Minute},
		"no-store":      {[]string{"Cache-Control", "max-age=600, no-store"}, 0},
		"expires":       {[]string{"Expires", httpDate(20 * time.Minute), "Date", httpDate(0)}, 20 * time.Minute},
		"expired":       {[]string{"Expires", httpDate(-time.Minute), "Date", httpDate(0)}, time.Minute},
		"expires 0":     {[]string{"Expires", "0"}, time.Minute},
		"max-age first": {[]string{"Expires", httpDate(20 * time.Minute), "Date", httpDate(0), "Cache-Control", "max-age=120"}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, k := newDocuments(t, documents.Options{Networks: here})
			url := site(t, func(w http.ResponseWriter, _ *http.Request) string {
				for i := 0; i < len(test.header); i += 2 {
					w.Header().Set(test.header[i], test.header[i+1])
				}
				return `{"client_id":"%s"}`
			}) + "/c"
			found, err := d.Fetch(t.Context(), url)
			if err != nil || found.Fresh.Sub(k.Clock.Now()) != test.want {
				t.Errorf("%+v, error %v", found, err)
			}
		})
	}
}

// TestHostLimit checks that a host is sent at most five requests at once, and one per second.
func TestHostLimit(t *testing.T) {
	t.Parallel()
	d, k := newDocuments(t, documents.Options{Networks: here})
	baseURL := site(t, func(http.ResponseWriter, *http.Request) string { return `{"client_id":"%s"}` })
	fetch := func() error {
		_, err := d.Fetch(t.Context(), baseURL+"/c")
		return err
	}
	for range 5 {
		if err := fetch(); err != nil {
			t.Fatal(err)
		}
	}
	if err := fetch(); !is(err, kernel.Unavailable) {
		t.Errorf("error %v", err)
	}
	k.Clock.Pass(time.Second)
	if err := fetch(); err != nil {
		t.Error(err)
	}
	if err := fetch(); !is(err, kernel.Unavailable) {
		t.Errorf("error %v", err)
	}
}

// TestHostLimitOfKnown checks that requests for other URLs of a host do not prevent the refresh of a known document,
// and that it does not raise the number of fetches per second.
func TestHostLimitOfKnown(t *testing.T) {
	t.Parallel()
	d, k := newDocuments(t, documents.Options{Networks: here})
	baseURL := site(t, func(_ http.ResponseWriter, r *http.Request) string { return `{"client_id":"%s"}` })
	fetches := 0
	flood := func() {
		for range 10 {
			if _, err := d.Fetch(t.Context(), baseURL+"/c"); err == nil {
				fetches++
			}
		}
	}
	for range 10 {
		flood()
		if _, err := d.Refetch(t.Context(), baseURL+"/c"); err != nil {
			t.Fatal(err)
		}
		fetches++
		if _, err := d.Refetch(t.Context(), baseURL+"/c"); !is(err, kernel.Unavailable) {
			t.Errorf("error %v", err)
		}
		k.Clock.Pass(2 * time.Second)
	}
	if flood(); fetches > 5+1+20 {
		t.Errorf("%d fetches in 20 s", fetches)
	}
}

// TestPlaces checks that there are at most 32 concurrent fetches.
func TestPlaces(t *testing.T) {
	t.Parallel()
	d, k := newDocuments(t, documents.Options{Networks: here})
	hold, arrived := make(chan struct{}), make(chan struct{}, 40)
	baseURL := site(t, func(_ http.ResponseWriter, r *http.Request) string {
		arrived <- struct{}{}
		<-hold
		return `{"client_id":"http://` + r.Host + `/c"}`
	})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if _, err := d.Fetch(t.Context(), baseURL+"/c"); err != nil {
				t.Error(err)
			}
		})
		<-arrived
		k.Clock.Pass(time.Second)
	}
	k.Clock.Pass(time.Minute)
	if _, err := d.Fetch(t.Context(), baseURL+"/c"); !is(err, kernel.Unavailable) {
		t.Errorf("error %v", err)
	}
	close(hold)
	all.Wait()
	if _, err := d.Fetch(t.Context(), baseURL+"/c"); err != nil {
		t.Error(err)
	}
}

// TestTimeout checks that a fetch from a silent or a very slow site ends.
func TestTimeout(t *testing.T) {
	t.Parallel()
	d, _ := newDocuments(t, documents.Options{Networks: here, Timeout: 50 * time.Millisecond})
	baseURL := site(t, func(w http.ResponseWriter, r *http.Request) string {
		if r.URL.Path == "/drip" {
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		return ""
	})
	for _, path := range []string{"/silent", "/drip"} {
		if _, err := d.Fetch(t.Context(), baseURL+path); !is(err, "") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// FuzzURL checks that only URLs with a host, without user information and without dot segments are fetched.
func FuzzURL(f *testing.F) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // nothing is fetched
	k := authtest.SQLite(f)
	for _, seed := range []string{"https://c.example/c", "https://[::1]:1/a?b", "http://c.example/%2e", "https://a@b/c", "https://c.example:80:80/a", "https://c.example/a?b#c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		_, err := documents.New(k.Server, documents.Options{HTTP: true}).Fetch(ctx, id)
		if is(err, kernel.InvalidClient) {
			return
		}
		u, bad := url.Parse(id)
		if bad != nil || u.User != nil || u.Fragment != "" || u.Hostname() == "" || len(u.Path) < 2 || !documents.IsURL(id) {
			t.Fatalf("%q is accepted: %v", id, bad)
		}
		_, rest, _ := strings.Cut(id, "://")
		if authority, _, _ := strings.Cut(rest, "/"); authority != u.Host || strings.ContainsAny(authority, "@?#%\\ ") {
			t.Fatalf("%q leads to %q", id, u.Host)
		}
		for segment := range strings.SplitSeq(u.Path[1:], "/") {
			if segment == "" || segment == "." || segment == ".." {
				t.Fatalf("%q has the segment %q", id, segment)
			}
		}
	})
}
