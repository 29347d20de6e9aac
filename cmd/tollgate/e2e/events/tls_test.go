package events

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// authority is the certificate authority of one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	last int64 // serial number
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, key := a.sign(a.cert, nil)
	a.key = key
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// sign makes a key and its certificate. Without an issuer the certificate is self-signed.
func (a *authority) sign(template *x509.Certificate, issuer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	template.SerialNumber = big.NewInt(a.last)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if issuer == nil {
		issuer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), issuer)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// issue returns a certificate for a name, valid for clients and for servers on this machine, and its key.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.t.Helper()
	der, private := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.key)
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})
}

// client returns an HTTP client that trusts the authority and presents a certificate for name, which issuer has issued.
// With an empty name it presents no certificate.
func (a *authority) client(name string, issuer *authority) *http.Client {
	a.t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(a.cert)
	if name != "" {
		certificate, key := issuer.issue(name)
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			a.t.Fatal(err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: config}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// newSecureEvents starts a node with the shipped Caddyfile for agents' servers, in which the lines for certificates are
// uncommented. options replace the rights.
func newSecureEvents(t *testing.T, ca *authority, options ...string) *eventsNode {
	t.Helper()
	port := e2e.FreePort(t)
	config := e2e.Shipped(t, "events",
		"{$TOLLGATE_DOMAIN:localhost} {", "https://localhost:"+port+" {",
		`	# tls {
	# 	client_auth {
	# 		mode verify_if_given
	# 		trust_pool file /etc/puppetlabs/puppet/ssl/certs/ca.pem
	# 	}
	# }
`, `	tls server.pem server.key {
		client_auth {
			mode verify_if_given
			trust_pool file ca.pem
		}
	}
`,
		"\t\tsubmit loopback\n\t\t# submit certname puppet.example.com\n\t\t# read certname puppet.example.com\n\t\t# read user\n", "\t\t"+strings.Join(options, "\n\t\t")+"\n",
		"\tskip_install_trust\n", "\tskip_install_trust\n\tauto_https disable_redirects\n",
	)
	n := &eventsNode{Node: e2e.NewNode(t, config), base: "https://localhost:" + port, config: config}
	certificate, key := ca.issue("localhost")
	for name, text := range map[string][]byte{"server.pem": certificate, "server.key": key, "ca.pem": ca.pem} {
		if err := os.WriteFile(n.Path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.Start()
	e2e.Eventually(t, e2e.StartLimit, "the database is there", func() error {
		resp, err := ca.client("", nil).Get(n.base + "/store/status/v1/simple") //nolint:noctx // a loopback probe
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
	return n
}

// TestEventsCertificates checks that reading and submitting are separate rights, given to the names of verified
// certificates, and that everybody may read the resources that hold no data.
func TestEventsCertificates(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t, "Agents"), newAuthority(t, "Strangers")
	n := newSecureEvents(t, ca, "submit certname puppet.example.com", "read certname dash.example.com", "read user ada")
	token := strings.TrimSpace(n.Tool("keychain", "token", "ada"))
	clients := map[string]*http.Client{
		"nobody": ca.client("", nil), "puppet": ca.client("puppet.example.com", ca), "dash": ca.client("dash.example.com", ca),
		"intruder": ca.client("intruder.example.com", ca), "ada": ca.client("", nil),
	}
	for name, rights := range map[string]struct{ submit, read bool }{
		"nobody": {}, "puppet": {submit: true}, "dash": {read: true}, "intruder": {}, "ada": {read: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := func(want bool, method, path, body string) {
				t.Helper()
				request, err := http.NewRequestWithContext(t.Context(), method, n.base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("X-Client-Cn", "puppet.example.com") // only the certificate counts
				if name == "ada" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				a := e2e.Read(clients[name].Do(request)) //nolint:bodyclose // read does
				status := http.StatusForbidden
				if want {
					status = http.StatusOK
				}
				if a.Err != nil || a.Status != status || !want && !strings.Contains(a.Body, `{"error":"this client may not `) {
					t.Errorf("%s %s: %d %s %v, want %d", method, path, a.Status, a.Body, a.Err, status)
				}
			}
			call(rights.submit, http.MethodPost, e2e.Submission, string(agentRun(name+".example.com")))
			call(rights.read, http.MethodGet, "/store/query/v4/events", "")
			call(rights.read, http.MethodPost, "/store/query/v4", `{"query":"nodes{}"}`)
			call(rights.read, http.MethodGet, "/store/meta/v1/version", "")
			call(true, http.MethodGet, "/store/", "")
			call(true, http.MethodGet, "/store/dashboard/app.js", "")
			call(true, http.MethodGet, "/store/openapi.json", "")
			call(true, http.MethodGet, "/store/status/v1/simple", "")
		})
	}
	t.Run("a stranger's certificate", func(t *testing.T) {
		t.Parallel()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.base+e2e.Submission, bytes.NewReader(agentRun("x.example.com")))
		if err != nil {
			t.Fatal(err)
		}
		if a := e2e.Read(ca.client("puppet.example.com", other).Do(request)); a.Err == nil { //nolint:bodyclose // read does
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}
