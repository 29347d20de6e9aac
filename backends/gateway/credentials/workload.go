package credentials

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

const (
	// maxMetadata is the size limit for the response of a metadata server or token endpoint and for a token file, in
	// bytes.
	maxMetadata = 64 << 10
	// connectTimeout is how long a metadata server may take to accept a connection. Outside of the cloud no server
	// answers at its address.
	connectTimeout = 2 * time.Second
)

// metadata is the client for metadata servers. These run on the machine or next to it, so no proxy is used. Their
// addresses are published by the clouds, or set by the operator in the environment. Connections are not kept, because
// hours pass between two requests.
var metadata = &http.Client{
	Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: connectTimeout}).DialContext,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: connectTimeout,
	},
	CheckRedirect: noRedirects,
}

// newWorkload returns the grant for the identity that a cloud gives to the machine or the pod. auth selects the
// cloud. The variables of environment state where the tokens come from. publicClient is the client for servers on the
// internet.
func newWorkload(auth string, environment func(string) string, publicClient *http.Client) grant {
	switch auth {
	case catalog.AuthAWS:
		return &awsWorkload{environment, publicClient}
	case catalog.AuthEntra:
		return &azureWorkload{environment}
	}
	return googleWorkload{}
}

// exchange sends a request and returns the body of the response, which must have the status 200. server names the
// server in errors. code extracts the error code from the body of an error response; it may be nil.
func exchange(client *http.Client, r *http.Request, server string, code func(body []byte) string) ([]byte, error) {
	resp, err := client.Do(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, &Error{Message: server + " did not answer in time"}
		}
		return nil, &Error{Message: server + " could not be reached"}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	switch {
	case err != nil:
		return nil, &Error{Message: "the response of " + server + " broke off"}
	case len(body) > maxMetadata:
		return nil, &Error{Message: fmt.Sprintf("%s sent more than %d KiB", server, maxMetadata>>10)}
	case resp.StatusCode == http.StatusOK:
		return body, nil
	}
	message := fmt.Sprintf("%s answered with %d", server, resp.StatusCode)
	if code != nil {
		message += quotedCode(code(body))
	}
	return nil, &Error{Message: message}
}

// quotedCode returns a space and the error code of another server, as the end of a message. It returns an empty string
// if the code is empty, longer than 64 bytes or not printable ASCII without spaces.
func quotedCode(code string) string {
	if code == "" || len(code) > 64 || strings.ContainsFunc(code, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return " " + code
}

// readTokenFile reads a file in which the platform stores the current token. variable is the environment variable that
// contained the path.
func readTokenFile(path, variable string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", &Error{Message: "the file of " + variable + " cannot be read: " + withoutPath(err)}
	}
	defer func() { _ = file.Close() }() // it is only read
	text, err := io.ReadAll(io.LimitReader(file, maxMetadata+1))
	if err != nil {
		return "", &Error{Message: "the file of " + variable + " cannot be read: " + withoutPath(err)}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > maxMetadata {
		return "", &Error{Message: "the file of " + variable + " contains no token"}
	}
	return token, nil
}

// withoutPath returns the text of a file error without the path.
func withoutPath(err error) string {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
