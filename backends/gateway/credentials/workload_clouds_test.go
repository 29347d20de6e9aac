package credentials

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// machine simulates a machine in a cloud: a metadata server on loopback, whose answers are given by method and path,
// and the token service on the internet, which is reached by the transport.
type machine struct {
	t       *testing.T
	server  *httptest.Server
	answers map[string]string // "404 text" is an answer with the status 404
	mu      sync.Mutex
	asked   []string
}

func newMachine(t *testing.T, answers map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, answers: answers}
	m.server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.server.Close)
	return m
}

// answer records the request with the headers that identify the sender, and answers it.
func (m *machine) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := r.Method + " " + r.URL.RequestURI()
	for _, name := range []string{
		"X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "X-Aws-Ec2-Metadata-Token", "Authorization", "Metadata", "X-Identity-Header",
	} {
		if value := r.Header.Get(name); value != "" {
			line += " " + name + "=" + value
		}
	}
	if len(body) > 0 {
		line += " " + string(body)
	}
	m.mu.Lock()
	m.asked = append(m.asked, line)
	answer, ok := m.answers[r.Method+" "+r.URL.Path]
	m.mu.Unlock()
	if !ok {
		http.Error(w, "no such address", http.StatusNotFound)
		return
	}
	var status int
	if _, err := fmt.Sscanf(answer, "%d ", &status); err == nil {
		w.Header().Set("Location", m.server.URL+"/elsewhere")
		w.WriteHeader(status)
		answer = answer[4:]
	}
	_, _ = io.WriteString(w, answer)
}

// RoundTrip implements http.RoundTripper for requests to the internet.
func (m *machine) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.URL.Scheme != "https" {
		return nil, errors.New("no TLS")
	}
	clone := r.Clone(r.Context())
	clone.URL.Path = "/" + r.URL.Host + r.URL.Path
	m.answer(w, clone)
	resp := w.Result()
	resp.Header.Set("Content-Type", "application/json")
	return resp, nil
}

// tokens returns a token cache with the given environment variables. In their values, {server} stands for the metadata
// server, and {dir} for a folder with the files token and broken.
func (m *machine) tokens(variables map[string]string) *Tokens {
	dir := m.t.TempDir()
	for name, text := range map[string]string{"token": "file-token\n", "empty": " \n", "lines": "a\nb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	tokens := NewTokens(time.Now)
	tokens.environment = func(name string) string {
		return strings.NewReplacer("{server}", m.server.URL, "{dir}", dir).Replace(variables[name])
	}
	return tokens
}

const (
	lent    = `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIALENT","SecretAccessKey":"lent/secret+x","Token":"lent-session","Expiration":"2099-01-01T00:00:00Z"}`
	assumed = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>` +
		`<SubjectFromWebIdentityToken>s</SubjectFromWebIdentityToken><Credentials><SessionToken>assumed-session</SessionToken>` +
		`<SecretAccessKey>assumed-secret</SecretAccessKey><Expiration>2099-01-01T00:00:00Z</Expiration><AccessKeyId>ASIAASSUMED</AccessKeyId>` +
		`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
	roleForm = "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=tollgate&Version=2011-06-15&WebIdentityToken=file-token"
	roles    = "/latest/meta-data/iam/security-credentials/"
)

func TestWorkloadIdentityOfAWS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		variables map[string]string
		answers   map[string]string
		key       string   // access key id in the signature
		session   string   // X-Amz-Security-Token
		asked     []string // requests in order
		message   string   // of the error
	}{
		{
			name:      "instance",
			variables: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{server}/"},
			answers:   map[string]string{"PUT /latest/api/token": "imds-session", "GET " + roles: "the-role\n", "GET " + roles + "the-role": lent},
			key:       "ASIALENT", session: "lent-session",
			asked: []string{
				"PUT /latest/api/token X-Aws-Ec2-Metadata-Token-Ttl-Seconds=300",
				"GET " + roles + " X-Aws-Ec2-Metadata-Token=imds-session",
				"GET " + roles + "the-role X-Aws-Ec2-Metadata-Token=imds-session",
			},
		},
		{
			name:      "instance without a role",
			variables: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{server}"},
			answers:   map[string]string{"PUT /latest/api/token": "imds-session"},
			message:   "answered with 404 to the request for its role: it may need an instance profile",
		},
		{
			name:      "version 1 alone is not used",
			variables: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{server}"},
			answers:   map[string]string{"GET " + roles: "the-role", "GET " + roles + "the-role": lent},
			message:   "the metadata service of the EC2 instance answered with 404",
		},
		{
			name:      "instance that failed",
			variables: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{server}"},
			answers: map[string]string{
				"PUT /latest/api/token": "imds-session", "GET " + roles: "the-role", "GET " + roles + "the-role": `{"Code":"AssumeRoleUnauthorizedAccess"}`,
			},
			message: "returned no key: AssumeRoleUnauthorizedAccess",
		},
		{
			name:      "metadata is off",
			variables: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"},
			message:   "AWS_EC2_METADATA_DISABLED disables",
		},
		{
			name:      "container with a token file",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "{dir}/token", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "not this"},
			answers:   map[string]string{"GET /v1/credentials": strings.Replace(lent, `"Code":"Success",`, "", 1)},
			key:       "ASIALENT", session: "lent-session",
			asked: []string{"GET /v1/credentials Authorization=file-token"},
		},
		{
			name:      "container with a token",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic dGhl"},
			answers:   map[string]string{"GET /v1/credentials": lent},
			key:       "ASIALENT", session: "lent-session",
			asked: []string{"GET /v1/credentials Authorization=Basic dGhl"},
		},
		{
			name:      "container that forwards",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic dGhl"},
			answers:   map[string]string{"GET /v1/credentials": "302 ", "GET /elsewhere": lent},
			message:   "answered with 302",
		},
		{
			name:      "container elsewhere without TLS",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/credentials"},
			message:   "must use https",
		},
		{
			name:      "container with a relative path that is none",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "@elsewhere.example/"},
			message:   "must begin with a slash",
		},
		{
			name:      "container with a token of two lines",
			variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "{dir}/lines"},
			message:   "must be one line of printable ASCII",
		},
		{
			name:      "web identity",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/not-this"},
			answers:   map[string]string{"POST /sts.eu-central-1.amazonaws.com/": assumed},
			key:       "ASIAASSUMED", session: "assumed-session",
			asked: []string{"POST /sts.eu-central-1.amazonaws.com/ " + roleForm},
		},
		{
			name:      "web identity in China",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_REGION": "cn-north-1"},
			answers:   map[string]string{"POST /sts.cn-north-1.amazonaws.com.cn/": assumed},
			key:       "ASIAASSUMED", session: "assumed-session",
			asked: []string{"POST /sts.cn-north-1.amazonaws.com.cn/ " + roleForm},
		},
		{
			name:      "web identity refused",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_ENDPOINT_URL_STS": "https://sts.example/path"},
			answers: map[string]string{
				"POST /sts.example/path": `400 <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>file-token</Message></Error></ErrorResponse>`,
			},
			message: "the security token service of AWS answered with 400 InvalidIdentityToken",
		},
		{
			name:      "web identity without a role",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token"},
			message:   "AWS_ROLE_ARN is not",
		},
		{
			name:      "web identity without its file",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/none", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"},
			message:   "the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read: no such file",
		},
		{
			name:      "region that is a host",
			variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token", "AWS_ROLE_ARN": "r", "AWS_REGION": "x.evil.example/"},
			message:   "AWS_REGION or AWS_DEFAULT_REGION is not the name",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.answers)
			tokens := m.tokens(c.variables)
			p := &catalog.Provider{Auth: catalog.AuthAWS, SigningService: "bedrock", SigningRegion: "eu-central-1"}
			for range 2 { // the second time from the cache
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://bedrock.example/", nil)
				err := tokens.Authorize(t.Context(), r.Header, p, catalog.WorkloadIdentity, m)
				if err != nil || r.Header.Get("Authorization") != "" {
					t.Fatalf("%v, %v", err, r.Header)
				}
				err = tokens.Sign(r, p, catalog.WorkloadIdentity, m, func() io.ReadCloser { return http.NoBody })
				if c.message != "" {
					wantUnavailable(t, err, c.message)
					return
				}
				if err != nil || !strings.Contains(r.Header.Get("Authorization"), "Credential="+c.key+"/") || r.Header.Get("X-Amz-Security-Token") != c.session {
					t.Fatalf("%v, %v", err, r.Header)
				}
			}
			if got, want := strings.Join(m.asked, "\n"), strings.Join(c.asked, "\n"); got != want {
				t.Errorf("asked\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// wantUnavailable checks that an error is not a refusal of the key, and that it contains the message but no secret.
func wantUnavailable(t *testing.T, err error, message string) {
	t.Helper()
	got, ok := errors.AsType[*Error](err)
	if !ok || got.Refused || !strings.Contains(got.Message, message) || strings.Contains(got.Message, "file-token") {
		t.Errorf("got %v, want %q", err, message)
	}
}

func TestWorkloadIdentityOfAzure(t *testing.T) {
	t.Parallel()
	const managed = `{"access_token":"managed-token","expires_in":"3599","expires_on":"4070908800","resource":"r","token_type":"Bearer"}`
	const path, resource = "/metadata/identity/oauth2/token", "&resource=https%3A%2F%2Fcognitiveservices.azure.com"
	const login = "/login.microsoftonline.com/the-tenant/oauth2/v2.0/token"
	federated := map[string]string{"AZURE_FEDERATED_TOKEN_FILE": "{dir}/token", "AZURE_TENANT_ID": "the-tenant", "AZURE_CLIENT_ID": "the-client"}
	for _, c := range []struct {
		name      string
		variables map[string]string
		answers   map[string]string
		token     string
		asked     string
		message   string
	}{
		{
			name: "machine", variables: map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "{server}"},
			answers: map[string]string{"GET " + path: managed}, token: "managed-token",
			asked: "GET " + path + "?api-version=2018-02-01" + resource + " Metadata=true",
		},
		{
			name: "machine with several identities", variables: map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "{server}/", "AZURE_CLIENT_ID": "the-client"},
			answers: map[string]string{"GET " + path: strings.ReplaceAll(managed, `"4070908800"`, "4070908800")}, token: "managed-token",
			asked: "GET " + path + "?api-version=2018-02-01&client_id=the-client" + resource + " Metadata=true",
		},
		{
			name: "machine without an identity", variables: map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "{server}"},
			answers: map[string]string{"GET " + path: `400 {"error":"invalid_request","error_description":"Identity not found"}`},
			message: "the metadata service of Azure answered with 400 invalid_request",
		},
		{
			name: "app", variables: map[string]string{"IDENTITY_ENDPOINT": "{server}/msi/token?x=1", "IDENTITY_HEADER": "the-header", "AZURE_POD_IDENTITY_AUTHORITY_HOST": "{server}"},
			answers: map[string]string{"GET /msi/token": strings.Replace(managed, `"expires_in":"3599",`, "", 1)}, token: "managed-token",
			asked: "GET /msi/token?api-version=2019-08-01" + resource + "&x=1 X-Identity-Header=the-header",
		},
		{
			name: "app without an identity", variables: map[string]string{"IDENTITY_ENDPOINT": "{server}/msi/token", "IDENTITY_HEADER": "the-header"},
			answers: map[string]string{"GET /msi/token": `{"error":"x"}`}, message: "returned no token",
		},
		{name: "Arc", variables: map[string]string{"IDENTITY_ENDPOINT": "{server}/metadata"}, message: "Azure Arc"},
		{name: "no address", variables: map[string]string{"IDENTITY_ENDPOINT": "file:///etc", "IDENTITY_HEADER": "h"}, message: "in the environment is not an http or https URL"},
		{
			name: "pod", variables: federated, answers: map[string]string{"POST " + login: `{"access_token":"pod-token","expires_in":3600,"token_type":"Bearer"}`}, token: "pod-token",
			asked: "POST " + login + " client_assertion=file-token&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer" +
				"&client_id=the-client&grant_type=client_credentials&scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default",
		},
		{
			name: "pod that is not trusted", variables: federated, answers: map[string]string{"POST " + login: `401 {"error":"invalid_client","error_description":"file-token"}`},
			message: "the token endpoint answered with 401 invalid_client",
		},
		{name: "pod without a tenant", variables: map[string]string{"AZURE_FEDERATED_TOKEN_FILE": "{dir}/token"}, message: "AZURE_TENANT_ID or AZURE_CLIENT_ID is not"},
		{
			name: "pod with an empty file", variables: map[string]string{"AZURE_FEDERATED_TOKEN_FILE": "{dir}/empty", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c"},
			message: "the file of AZURE_FEDERATED_TOKEN_FILE contains no token",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.answers)
			tokens := m.tokens(c.variables)
			p := &catalog.Provider{
				Auth: catalog.AuthEntra, TokenURL: "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
				TokenScope: "https://cognitiveservices.azure.com/.default",
			}
			for range 2 { // the second time from the cache
				header := make(http.Header)
				err := tokens.Authorize(t.Context(), header, p, catalog.WorkloadIdentity, m)
				if c.message != "" {
					wantUnavailable(t, err, c.message)
					return
				}
				if err != nil || header.Get("Authorization") != "Bearer "+c.token {
					t.Fatalf("%v, %v", err, header)
				}
			}
			if got := strings.Join(m.asked, "\n"); got != c.asked {
				t.Errorf("asked\n%s\nwant\n%s", got, c.asked)
			}
		})
	}
}

// TestTemporaryKeyIsRenewed checks that a temporary AWS access key is fetched again before its expiry, and after AWS
// has refused it with status 403.
func TestTemporaryKeyIsRenewed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := newMachine(t, map[string]string{
		"GET /key": strings.Replace(lent, "2099-01-01T00:00:00Z", now.Add(time.Hour).UTC().Format(time.RFC3339), 1),
	})
	tokens := m.tokens(map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{server}/key"})
	tokens.now = func() time.Time { return now }
	p := &catalog.Provider{Auth: catalog.AuthAWS, SigningService: "bedrock", SigningRegion: "eu-central-1"}
	sign := func() {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://bedrock.example/", nil)
		if err := tokens.Sign(r, p, catalog.WorkloadIdentity, m, func() io.ReadCloser { return http.NoBody }); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		later  time.Duration
		status int
		asked  int
	}{{0, 0, 1}, {50 * time.Minute, 0, 1}, {0, http.StatusForbidden, 2}, {time.Hour, 0, 3}} {
		now = now.Add(step.later)
		if step.status != 0 && !tokens.Forget(p, catalog.WorkloadIdentity, step.status) {
			t.Error("the key is not fetched again")
		}
		if sign(); len(m.asked) != step.asked {
			t.Errorf("step %d: asked %d times, want %d", i, len(m.asked), step.asked)
		}
	}
	for _, key := range []string{"bedrock-key", `{"access_key_id":"a","secret_access_key":"b"}`} {
		if tokens.Forget(p, key, http.StatusForbidden) {
			t.Errorf("%s is fetched again", key)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{lent, assumed, `{"access_token":"a","expires_on":"1"}`, `{"Code":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, parse := range []func([]byte) (*temporaryKey, error){
			func(body []byte) (*temporaryKey, error) { return parseTemporaryKey(body, "it") }, parseAssumed,
		} {
			if key, err := parse(body); err == nil && (key.ID == "" || key.Secret == "") {
				t.Errorf("half a key from %q", body)
			}
		}
		if token, err := parseManaged(body, "it"); err == nil && token.AccessToken == "" {
			t.Errorf("no token from %q", body)
		}
	})
}
