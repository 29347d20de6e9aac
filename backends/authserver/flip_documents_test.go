package authserver_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

const documentMembers = `"client_name":"Notes","redirect_uris":["https://app.example/cb"]`

// documented is the status of an authorization request of a client by the URL of its
// document: 302 leads on, 400 is that the document cannot be had.
func (f *flipped) documented(id string) string {
	return f.public(http.MethodGet, "/oauth/authorize?"+url.Values{
		"client_id": {id}, "response_type": {"code"}, "redirect_uri": {"https://app.example/cb"}, "scope": {"read"}, "code_challenge_method": {"S256"}, "code_challenge": {strings.Repeat("c", 43)},
	}.Encode(), "").status()
}

// documentFlips are of clients that are known by the URL of their document.
func documentFlips() map[string]flip {
	plain := keys{"cimd.require_https": false}
	fetched := func(base ...keys) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, append(base, key)...).documented(newDocumentSite(t, documentMembers).URL + "/c.json")
		}
	}
	return map[string]flip{
		"cimd.enabled":                 {nil, false, metadata("client_id_metadata_document_supported"), "true", "null"},
		"cimd.allow_private_addresses": {nil, true, fetched(plain), "400", "302"},
		"cimd.require_https":           {nil, false, fetched(trust), "400", "302"},
		"cimd.fetch_timeout":           {nil, "1ns", fetched(plain, trust), "302", "400"},
		"cimd.cache_ttl": {nil, "60s", func(t *testing.T, key keys) string {
			t.Helper()
			f, site := begin(t, plain, trust, key), newDocumentSite(t, documentMembers)
			for range 2 {
				f.documented(site.URL + "/c.json")
				f.clock.Pass(2 * time.Minute)
			}
			return strconv.FormatInt(site.fetches.Load(), 10)
		}, "1", "2"},
	}
}
