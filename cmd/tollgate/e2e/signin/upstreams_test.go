package signin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestUpstreams runs the cases of testdata/npm/upstreams.mjs, with two further authorization servers as upstream
// providers of the first. These are at another host name, since cookies do not distinguish ports.
func TestUpstreams(t *testing.T) {
	t.Parallel()
	const secret = "a secret between the servers, long enough"
	site := "http://localhost:" + e2e.FreePort(t)
	upstream := func(slug string) (*e2e.Node, string) {
		n, public, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://127.0.0.1:PORT'}
session: {cookie_name: `+slug+`}
rate_limit: {enabled: false}
admin: {address: '127.0.0.1:ADMIN'}
`)
		issuer := strings.Replace(public, "localhost", "127.0.0.1", 1)
		e2e.AnswersWith(t, issuer+"/ready", http.StatusOK)
		for path, body := range map[string]string{
			"/admin/clients": `{"client_id":"site","client_secret":"` + secret +
				`","client_name":"The Site","redirect_uris":["` + site + `/oidc/` + slug + `/callback"],"first_party":true}`,
			"/admin/users": `{"email":"ann@` + slug + `.example","name":"Ann Stone","password":"correct horse"}`,
		} {
			if a := e2e.Do(t, e2e.Client, http.MethodPost, strings.Replace(admin, "localhost", "127.0.0.1", 1)+path, "",
				body); a.Err != nil || a.Status != http.StatusCreated {
				t.Fatalf("%s: %d %s: %v", path, a.Status, a.Body, a.Err)
			}
		}
		return n, issuer
	}
	company, companyIssuer := upstream("company")
	partner, partnerIssuer := upstream("partner")
	port := site[strings.LastIndex(site, ":"):]
	n, _, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1`+port+`', issuer: '`+site+`'}
admin: {address: '127.0.0.1:ADMIN'}
rate_limit: {enabled: false}
upstreams:
  - slug: company
    display_name: The Company
    issuer: '`+companyIssuer+`'
    client_id: site
    client_secret_env: COMPANY_SECRET
    trust_email: true
    registration: open
    registration_domains: [company.example]
  - slug: partner
    display_name: A Partner
    issuer: '`+partnerIssuer+`'
    client_id: site
    client_secret_env: COMPANY_SECRET
    domains: [partner.example]
    hidden: true
  - slug: nobody
    display_name: Nobody
    issuer: 'http://127.0.0.1:1'
    client_id: site
`, "COMPANY_SECRET="+secret)
	e2e.AnswersWith(t, site+"/ready", http.StatusOK)
	e2e.RunBrowser(t, "upstreams.mjs", "SITE="+site, "ADMIN="+admin, "COMPANY="+companyIssuer, "PARTNER="+partnerIssuer)
	for _, n := range []*e2e.Node{n, company, partner} {
		n.Stop()
		for _, hidden := range []string{secret, "correct horse", "code="} {
			if strings.Contains(n.Out.String(), hidden) {
				t.Errorf("%s is in the log", hidden)
			}
		}
	}
	if !strings.Contains(n.Out.String(), `"upstream":"nobody"`) {
		t.Error("the log does not name the provider that does not answer")
	}
}
