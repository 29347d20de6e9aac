package credentials

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// Addresses of AWS on a machine.
const (
	instanceMetadata     = "http://169.254.169.254"
	instanceMetadataIPv6 = "http://[fd00:ec2::254]"
	containerMetadata    = "http://169.254.170.2"
)

// awsWorkload is the role that AWS gives to a machine, a task or a pod. The environment decides where its temporary
// access keys come from, in the order of AWS' own libraries: the STS for a web identity token, the agent of ECS or EKS,
// or else the metadata service of the instance.
type awsWorkload struct {
	environment func(string) string
	public      *http.Client
}

// temporaryKey is a temporary access key from a metadata service of AWS.
type temporaryKey struct {
	Code       string
	ID         string    `json:"AccessKeyId"     xml:"AccessKeyId"`
	Secret     string    `json:"SecretAccessKey" xml:"SecretAccessKey"`
	Token      string    `json:"Token"           xml:"SessionToken"`
	Expiration time.Time `json:"Expiration"      xml:"Expiration"`
}

// token implements grant.
func (w *awsWorkload) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	source := w.instance
	switch {
	case w.environment("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		source = func(ctx context.Context) (*temporaryKey, error) { return w.webIdentity(ctx, p) }
	case w.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "",
		w.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		source = w.container
	}
	key, err := source(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(accessKey{ID: key.ID, Secret: key.Secret, SessionToken: key.Token})
	if err != nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: string(text), Expiry: key.Expiration}, nil
}

// instance gets the key of an EC2 instance's role from the metadata service, by version 2 of the protocol only.
func (w *awsWorkload) instance(ctx context.Context) (*temporaryKey, error) {
	const server = "the metadata service of the EC2 instance"
	if strings.EqualFold(w.environment("AWS_EC2_METADATA_DISABLED"), "true") {
		return nil, &Error{
			Message: "AWS_EC2_METADATA_DISABLED forbids to ask the metadata service, and no other variable names an identity of AWS",
		}
	}
	base := instanceMetadata
	if strings.EqualFold(w.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "ipv6") {
		base = instanceMetadataIPv6
	}
	base = strings.TrimRight(cmp.Or(w.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT"), base), "/") + "/latest/"
	ask := func(method, path, header, value string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, method, base+path, nil)
		if err != nil {
			return "", &Error{Message: "AWS_EC2_METADATA_SERVICE_ENDPOINT is not an address of a server"}
		}
		r.Header.Set(header, value)
		body, err := exchange(metadata, r, server, nil)
		return string(body), err
	}
	session, err := ask(http.MethodPut, "api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
	if err != nil {
		return nil, err
	}
	const roles, header = "meta-data/iam/security-credentials/", "X-Aws-Ec2-Metadata-Token"
	list, err := ask(http.MethodGet, roles, header, session)
	if err != nil {
		return nil, &Error{Message: err.Error() + " about its role: it may need an instance profile"}
	}
	role, _, _ := strings.Cut(strings.TrimSpace(list), "\n")
	answer, err := ask(http.MethodGet, roles+url.PathEscape(role), header, session)
	if err != nil {
		return nil, err
	}
	return parseTemporaryKey([]byte(answer), server)
}

// container gets the key of the role of an ECS task or EKS pod from the agent on the same machine.
func (w *awsWorkload) container(ctx context.Context) (*temporaryKey, error) {
	const server = "the server of AWS_CONTAINER_CREDENTIALS_FULL_URI"
	address, err := w.agent()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &Error{Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI is not an address"}
	}
	token := w.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	const variable = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	if path := w.environment(variable); path != "" {
		if token, err = tokenFile(path, variable); err != nil {
			return nil, err
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, &Error{Message: "the token for the container's credentials is not a line of ASCII"}
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	body, err := exchange(metadata, r, server, nil)
	if err != nil {
		return nil, err
	}
	return parseTemporaryKey(body, server)
}

// agent returns the address from which a container gets its key. Without encryption a key is fetched only from the
// machine's own addresses and those of the ECS and EKS agents, as in AWS' libraries.
func (w *awsWorkload) agent() (string, error) {
	if path := w.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		if !strings.HasPrefix(path, "/") {
			return "", &Error{Message: "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with a slash"}
		}
		return containerMetadata + path, nil
	}
	full := w.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	address, err := url.Parse(full)
	if err != nil || address.Host == "" {
		return "", &Error{Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI is not an address"}
	}
	switch ip, _ := netip.ParseAddr(address.Hostname()); {
	case address.Scheme == "https":
	case address.Scheme == "http" && (ip.IsLoopback() || address.Hostname() == "localhost"):
	case address.Scheme == "http" && (ip == netip.AddrFrom4([4]byte{169, 254, 170, 2}) ||
		ip == netip.AddrFrom4([4]byte{169, 254, 170, 23}) || ip == netip.MustParseAddr("fd00:ec2::23")):
	default:
		return "", &Error{
			Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI must use https, except for loopback addresses and the agents of ECS and EKS",
		}
	}
	return full, nil
}

// parseTemporaryKey parses the response of a metadata service. server names the service in errors.
func parseTemporaryKey(body []byte, server string) (*temporaryKey, error) {
	key := new(temporaryKey)
	switch err := json.Unmarshal(body, key); {
	case err == nil && key.Code != "" && key.Code != "Success":
		return nil, &Error{Message: server + " gave no key:" + quotedCode(key.Code)}
	case err != nil, key.ID == "", key.Secret == "":
		return nil, &Error{Message: server + " gave no key"}
	}
	return key, nil
}

var regionPattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// webIdentity exchanges a token of an OpenID Connect provider, such as a Kubernetes cluster, for the key of a role.
func (w *awsWorkload) webIdentity(ctx context.Context, p *catalog.Provider) (*temporaryKey, error) {
	const variable = "AWS_WEB_IDENTITY_TOKEN_FILE"
	role := w.environment("AWS_ROLE_ARN")
	if role == "" {
		return nil, &Error{Message: variable + " is set, but AWS_ROLE_ARN is not"}
	}
	token, err := tokenFile(w.environment(variable), variable)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
		"RoleSessionName":  {cmp.Or(w.environment("AWS_ROLE_SESSION_NAME"), "tollgate")},
		"WebIdentityToken": {token},
	}
	address, err := w.sts(p)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &Error{Message: "AWS_ENDPOINT_URL_STS is not an address of a server"}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	body, err := exchange(w.public, r, "the security token service of AWS", func(body []byte) string {
		var failed struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(body, &failed) // without a code the status says enough
		return failed.Code
	})
	if err != nil {
		return nil, err
	}
	return parseAssumed(body)
}

// sts returns the address of the security token service. By default it is that in the environment's region, or else in
// the provider's.
func (w *awsWorkload) sts(p *catalog.Provider) (string, error) {
	if address := w.environment("AWS_ENDPOINT_URL_STS"); address != "" {
		return address, nil
	}
	region := cmp.Or(w.environment("AWS_REGION"), w.environment("AWS_DEFAULT_REGION"), p.SigningRegion)
	if !regionPattern.MatchString(region) {
		return "", &Error{Message: "AWS_REGION is not a region of AWS"}
	}
	domain := ".amazonaws.com/"
	if strings.HasPrefix(region, "cn-") {
		domain = ".amazonaws.com.cn/"
	}
	return "https://sts." + region + domain, nil
}

// parseAssumed parses the response to AssumeRoleWithWebIdentity.
func parseAssumed(body []byte) (*temporaryKey, error) {
	var answer struct {
		Key temporaryKey `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if xml.Unmarshal(body, &answer) != nil || answer.Key.ID == "" || answer.Key.Secret == "" {
		return nil, &Error{Message: "the security token service of AWS gave no key"}
	}
	return &answer.Key, nil
}
