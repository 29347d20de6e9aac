package moving

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
)

// Hydra implements Reader for clients of Ory Hydra. The file is the response of GET /admin/clients, the output of
// hydra list clients --format json, or the rows of Hydra's table as one JSON object per line. The rows contain the
// hashes of the secrets:
//
//	psql -At -c 'SELECT row_to_json(c) FROM hydra_client c'
func Hydra(file io.Reader, fn func(Record) error) error {
	buffered := bufio.NewReader(file)
	first, err := firstByte(buffered)
	if err != nil {
		return err
	}
	readClient := func(i int, raw json.RawMessage) error { return fn(hydraRecord(i, raw)) }
	d := json.NewDecoder(buffered)
	if first == '[' {
		return readArray(d, readClient)
	}
	for i := 0; ; i++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &page); err == nil && page.Items != nil {
			for i, item := range page.Items {
				if err := readClient(i, item); err != nil {
					return err
				}
			}
			continue
		}
		if len(raw) > maxRecord {
			return fmt.Errorf("entry %d has more than %d bytes", i, maxRecord)
		}
		if err := readClient(i, raw); err != nil {
			return err
		}
	}
}

// firstByte returns the first byte that is not white space. It does not consume that byte.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		next, err := r.Peek(1)
		if err != nil {
			return 0, fmt.Errorf("the file is empty: %w", err)
		}
		if !strings.ContainsRune(" \t\r\n", rune(next[0])) {
			return next[0], nil
		}
		_, _ = r.Discard(1)
	}
}

// hydraList is a JSON array or, in a row of the table, a text of values separated by vertical bars.
type hydraList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *hydraList) UnmarshalJSON(raw []byte) error {
	var list []string
	if err := json.Unmarshal(raw, &list); err == nil {
		*l = list
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if strings.HasPrefix(text, "[") {
		return json.Unmarshal([]byte(text), (*[]string)(l))
	}
	*l = strings.FieldsFunc(text, func(r rune) bool { return r == '|' })
	return nil
}

// hydraClient is a client of Hydra's API, or a row of its table.
type hydraClient struct {
	ClientID    string          `json:"client_id"`
	ID          any             `json:"id"` // of a row: the client_id, or a number
	Name        string          `json:"client_name"`
	Secret      string          `json:"client_secret"`
	Redirects   hydraList       `json:"redirect_uris"`
	Grants      hydraList       `json:"grant_types"`
	Responses   hydraList       `json:"response_types"`
	Scope       string          `json:"scope"`
	AuthMethod  string          `json:"token_endpoint_auth_method"`
	Logout      hydraList       `json:"post_logout_redirect_uris"`
	Backchannel string          `json:"backchannel_logout_uri"`
	JWKSURI     string          `json:"jwks_uri"`
	JWKS        json.RawMessage `json:"jwks"`
	SkipConsent bool            `json:"skip_consent"`
}

// hydraRecord returns the record for the i-th client of the file.
func hydraRecord(i int, raw json.RawMessage) Record {
	var c hydraClient
	if err := json.Unmarshal(raw, &c); err != nil {
		return Record{Where: fmt.Sprintf("clients[%d]", i), Refused: err.Error()}
	}
	id := c.ClientID
	if text, ok := c.ID.(string); id == "" && ok { // a row of the table may have its client_id there
		id = text
	}
	r := Record{Where: fmt.Sprintf("clients[%d] %s", i, id)}
	client := &Client{Scope: c.Scope, Given: clients.Given{ID: id}}
	client.Name, client.Redirects, client.AuthMethod = c.Name, c.Redirects, c.AuthMethod
	if client.AuthMethod == "" {
		client.AuthMethod = clients.MethodBasic
	}
	for _, grant := range c.Grants {
		if grant == "implicit" || grant == "password" {
			r.Notes = append(r.Notes, "left out the grant "+grant+", which OAuth 2.1 has removed")
			continue
		}
		client.Grants = append(client.Grants, grant)
		if grant == clients.GrantCode {
			client.Responses = []string{"code"}
		}
	}
	client.Metadata = clients.Metadata{
		Logout: c.Logout, BackchannelLogout: c.Backchannel, JWKSURI: c.JWKSURI,
		FirstParty: c.SkipConsent,
	}
	if text := string(c.JWKS); text != "" && text != "null" && text != "{}" && c.JWKSURI == "" {
		client.Metadata.JWKS = c.JWKS
	}
	switch needsSecret := client.AuthMethod == clients.MethodBasic || client.AuthMethod == clients.MethodPost; {
	case id == "":
		r.Refused = "it has no client_id"
	case needsSecret && c.Secret == "":
		r.Refused = "its secret is not in the file: Hydra's API does not return it; export the rows of the table" +
			" hydra_client, which contain its hash"
	case needsSecret && strings.HasPrefix(c.Secret, "$"):
		client.Hash = c.Secret
	case needsSecret:
		client.Secret = c.Secret
	}
	if r.Refused == "" {
		r.Client = client
	}
	return r
}
