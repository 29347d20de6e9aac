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
	"slices"
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
	environment func(string) string // returns the value of a variable
	public      *http.Client        // for the STS
}

// temporaryKey is a temporary access key from the STS or a metadata service of AWS.
type temporaryKey struct {
	Code       string    // of a metadata service: "Success" or an error code
	ID         string    `json:"AccessKeyId"     xml:"AccessKeyId"`
	Secret     string    `json:"SecretAccessKey" xml:"SecretAccessKey"`
	Token      string    `json:"Token"           xml:"SessionToken"`
	Expiration time.Time `json:"Expiration"      xml:"Expiration"`
}

// token implements grant.
func (w *awsWorkload) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	var key *temporaryKey
	var err error
	switch {
	case w.environment("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		key, err = w.webIdentity(ctx, p)
	case w.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "",
		w.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		key, err = w.container(ctx)
	default:
		key, err = w.instance(ctx)
	}
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
			Message: "AWS_EC2_METADATA_DISABLED disables the metadata service, and no other variable sets an identity of AWS",
		}
	}
	base := instanceMetadata
	if strings.EqualFold(w.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "ipv6") {
		base = instanceMetadataIPv6
	}
	base = strings.TrimRight(cmp.Or(w.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT"), base), "/") + "/latest/"
	request := func(method, path, header, value string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, method, base+path, nil)
		if err != nil {
			return "", &Error{Message: "AWS_EC2_METADATA_SERVICE_ENDPOINT is not a valid URL"}
		}
		r.Header.Set(header, value)
		body, err := exchange(metadata, r, server, nil)
		return string(body), err
	}
	session, err := request(http.MethodPut, "api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
	if err != nil {
		return nil, err
	}
	const rolesPath, header = "meta-data/iam/security-credentials/", "X-Aws-Ec2-Metadata-Token"
	roles, err := request(http.MethodGet, rolesPath, header, session)
	if err != nil {
		return nil, &Error{Message: err.Error() + " to the request for its role: it may need an instance profile"}
	}
	role, _, _ := strings.Cut(strings.TrimSpace(roles), "\n")
	body, err := request(http.MethodGet, rolesPath+url.PathEscape(role), header, session)
	if err != nil {
		return nil, err
	}
	return parseTemporaryKey([]byte(body), server)
}

// container gets the key of the role of an ECS task or EKS pod from the agent on the same machine.
func (w *awsWorkload) container(ctx context.Context) (*temporaryKey, error) {
	const server = "the server of AWS_CONTAINER_CREDENTIALS_FULL_URI"
	address, err := w.agentURL()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &Error{Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI is not a valid URL"}
	}
	token := w.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	const variable = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	if path := w.environment(variable); path != "" {
		if token, err = readTokenFile(path, variable); err != nil {
			return nil, err
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, &Error{
			Message: "AWS_CONTAINER_AUTHORIZATION_TOKEN or its file must be one line of printable ASCII",
		}
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

// agentURL returns the URL from which a container gets its key. Without TLS a key is fetched only from the machine's
// own addresses and those of the ECS and EKS agents, as in AWS' libraries.
func (w *awsWorkload) agentURL() (string, error) {
	if path := w.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		if !strings.HasPrefix(path, "/") {
			return "", &Error{Message: "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with a slash"}
		}
		return containerMetadata + path, nil
	}
	text := w.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		return "", &Error{Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI is not a valid URL"}
	}
	ip, _ := netip.ParseAddr(address.Hostname()) // the zero value if it is a name
	trusted := ip.IsLoopback() || address.Hostname() == "localhost" || slices.Contains(agentAddresses, ip)
	if address.Scheme != "https" && (address.Scheme != "http" || !trusted) {
		return "", &Error{
			Message: "AWS_CONTAINER_CREDENTIALS_FULL_URI must use https, except for loopback addresses and the agents of ECS and EKS",
		}
	}
	return text, nil
}

// agentAddresses are the addresses of the ECS agent and of the EKS agent.
var agentAddresses = []netip.Addr{
	netip.AddrFrom4([4]byte{169, 254, 170, 2}), netip.AddrFrom4([4]byte{169, 254, 170, 23}),
	netip.MustParseAddr("fd00:ec2::23"),
}

// parseTemporaryKey parses the response of a metadata service. server names the service in errors.
func parseTemporaryKey(body []byte, server string) (*temporaryKey, error) {
	key := new(temporaryKey)
	switch err := json.Unmarshal(body, key); {
	case err == nil && key.Code != "" && key.Code != "Success":
		return nil, &Error{Message: server + " returned no key:" + quotedCode(key.Code)}
	case err != nil, key.ID == "", key.Secret == "":
		return nil, &Error{Message: server + " returned no key"}
	}
	return key, nil
}

// regionPattern matches names of regions, which become part of a host name.
var regionPattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// webIdentity exchanges a token of an OpenID Connect provider, such as a Kubernetes cluster, for the key of a role.
func (w *awsWorkload) webIdentity(ctx context.Context, p *catalog.Provider) (*temporaryKey, error) {
	const variable = "AWS_WEB_IDENTITY_TOKEN_FILE"
	role := w.environment("AWS_ROLE_ARN")
	if role == "" {
		return nil, &Error{Message: variable + " is set, but AWS_ROLE_ARN is not"}
	}
	token, err := readTokenFile(w.environment(variable), variable)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
		"RoleSessionName":  {cmp.Or(w.environment("AWS_ROLE_SESSION_NAME"), "tollgate")},
		"WebIdentityToken": {token},
	}
	address, err := w.stsURL(p)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &Error{Message: "AWS_ENDPOINT_URL_STS is not a valid URL"}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	body, err := exchange(w.public, r, "the security token service of AWS", func(body []byte) string {
		var failed struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(body, &failed) // without a code only the status is reported
		return failed.Code
	})
	if err != nil {
		return nil, err
	}
	return parseAssumed(body)
}

// stsURL returns the URL of the security token service (STS): AWS_ENDPOINT_URL_STS if it is set, otherwise the service
// in the region of the environment or else in the provider's region.
func (w *awsWorkload) stsURL(p *catalog.Provider) (string, error) {
	if address := w.environment("AWS_ENDPOINT_URL_STS"); address != "" {
		return address, nil
	}
	region := cmp.Or(w.environment("AWS_REGION"), w.environment("AWS_DEFAULT_REGION"), p.SigningRegion)
	if !regionPattern.MatchString(region) {
		return "", &Error{Message: "AWS_REGION or AWS_DEFAULT_REGION is not the name of an AWS region"}
	}
	domain := ".amazonaws.com/"
	if strings.HasPrefix(region, "cn-") {
		domain = ".amazonaws.com.cn/"
	}
	return "https://sts." + region + domain, nil
}

// parseAssumed parses the response to AssumeRoleWithWebIdentity.
func parseAssumed(body []byte) (*temporaryKey, error) {
	var response struct {
		Key temporaryKey `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if xml.Unmarshal(body, &response) != nil || response.Key.ID == "" || response.Key.Secret == "" {
		return nil, &Error{Message: "the security token service of AWS returned no key"}
	}
	return &response.Key, nil
}
