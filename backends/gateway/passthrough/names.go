package passthrough

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Names translates the models in the requests of a batch to the names that the batch's provider has for them.
type Names struct {
	Catalog *catalog.Catalog
	// Account and TeamID are those of the sender. TeamID is empty for no team.
	Account *keychain.Account
	TeamID  string
	// Provider is the code of the provider.
	Provider string
	// Forbids returns an empty string if the sender may use the candidate. Otherwise it returns a phrase for the list of
	// allowed models in which the candidate is missing. A nil Forbids allows all candidates.
	Forbids func(c *keychain.Candidate) (list string)
}

// AtProvider returns the name that the provider uses for a model. A name that is neither in the catalog nor an alias
// is taken to be the provider's name. Errors are *apierror.Error with status 400 for a tier and for the model of
// another provider, and 403 for a model that the sender may not use.
func (n *Names) AtProvider(name string) (string, error) {
	routing := n.Account.RoutingFor(n.Catalog, n.TeamID)
	target := routing.Resolve(name)
	if strings.HasPrefix(target, catalog.TierPrefix) {
		return "", apierror.New(http.StatusBadRequest, "invalid_value",
			"the model %q is a tier, but one provider runs the whole batch: name a model of %s", name, n.Provider)
	}
	if c := n.candidate(routing, target); c != nil {
		if c.Custom || c.Provider.Code != n.Provider {
			return "", n.errOtherProvider(name, c.Entry)
		}
		if err := n.checkAllowed(name, c); err != nil {
			return "", err
		}
		return c.Model.ID, nil
	}
	// No entry of the sender has this name, so it is a name at the provider, with or without the provider's code.
	id, prefixed := strings.CutPrefix(target, n.Provider+"/")
	if code, _, _ := strings.Cut(target, "/"); !prefixed && code != target { // it has another prefix
		if _, ok := n.Catalog.Provider(code); ok {
			return "", n.errOtherProvider(name, target)
		}
	}
	c, known := routing.Entry(n.Provider + "/" + id)
	if !known { // a model that is missing from the catalog, or that the method candidate left out
		c = n.Account.CandidateFor(n.Catalog, n.TeamID, n.Provider, id)
	}
	if err := n.checkAllowed(name, c); err != nil {
		return "", err
	}
	return id, nil
}

// candidate returns the candidate that a resolved name identifies, by its entry or by its model's name, or nil for
// none. Of several candidates with the same name it prefers one of n.Provider. If n.Provider uses the name in the
// catalog, candidate returns nil, so that the model of n.Provider takes precedence over models of that name at other
// providers.
func (n *Names) candidate(routing *keychain.Routing, target string) *keychain.Candidate {
	if c, known := routing.Entry(target); known {
		return c
	}
	if _, inCatalog := n.Catalog.Model(n.Provider, target); inCatalog {
		return nil
	}
	var found *keychain.Candidate
	for _, c := range routing.Named(target) {
		if found == nil || c.Provider.Code == n.Provider {
			found = c
		}
	}
	return found
}

// checkAllowed returns an error with status 403 if the sender may not use the model name, whose candidate is c. A nil c
// means that the sender has no key for the model.
func (n *Names) checkAllowed(name string, c *keychain.Candidate) error {
	if n.Forbids == nil {
		return nil
	}
	list := "the models of your provider keys"
	if c != nil {
		list = n.Forbids(c)
	}
	if list == "" {
		return nil
	}
	return apierror.New(http.StatusForbidden, "permission_denied", "the model %q is not one of %s", name, list)
}

// errOtherProvider returns the error for a model of another provider. The model has the given name and entry.
func (n *Names) errOtherProvider(name, entry string) error {
	return apierror.New(http.StatusBadRequest, "invalid_value",
		"the model %q is %s, but the batch goes to %s, which has other models", name, wire.Mask(entry, 200), n.Provider)
}

// Input is an io.WriteCloser to which the input file of a batch is written. It checks the models in the file, and holds
// one line at a time in memory. The provider reads the file unchanged, so its models must have the provider's names.
type Input struct{ lines }

// NewInput returns an Input. grow is called before more memory is used, with the total size needed; its error ends the
// check.
func NewInput(names *Names, grow func(size int64) error) *Input {
	i := new(Input)
	i.grow = grow
	i.line = func(number int, text []byte) error {
		if !gjson.ValidBytes(text) || text[0] != '{' {
			return apierror.New(http.StatusBadRequest, "invalid_json", "line %d of the file is not a JSON object", number)
		}
		return atLine(names.checkLine(text), "line %d of the file: ", number)
	}
	return i
}

// checkLine returns an error unless the model of the request in a line is the provider's name of a model that the
// sender may use.
func (n *Names) checkLine(line []byte) error {
	model, err := modelIn(gjson.ParseBytes(line), "body")
	if err != nil {
		return err
	}
	name, err := n.AtProvider(model.Str)
	if err == nil && name != model.Str {
		err = apierror.New(http.StatusBadRequest, "invalid_value",
			"the model %q is a name of this gateway, which %s does not know: write %q", model.Str, n.Provider, name)
	}
	return err
}

// atLine puts the line number, formatted by format, before the message of an error.
func atLine(err error, format string, number int) error {
	if e, ok := apierror.From(err); ok {
		return apierror.New(e.Status, e.Code, format+"%s", number, e.Message)
	}
	return err
}

// modelIn returns the model of a request in a batch. The given member of the request, body or params, is the object
// with the model. Repeated members are refused, because the gateway and the provider might read different values.
func modelIn(request gjson.Result, member string) (model gjson.Result, err error) {
	body, err := uniqueMember(request, member)
	if err != nil {
		return model, err
	}
	if model, err = uniqueMember(body, "model"); err != nil {
		return model, err
	}
	if model.Type != gjson.String || model.Str == "" || len(model.Str) > maxModel {
		return model, apierror.New(http.StatusBadRequest, "invalid_value", "%s.model must be a text of 1 to %d bytes", member,
			maxModel)
	}
	return model, nil
}

// uniqueMember returns a member of an object, or the zero value if it is absent. The error has status 400 if the member
// is repeated.
func uniqueMember(object gjson.Result, member string) (found gjson.Result, err error) {
	if !object.IsObject() {
		return found, nil
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str != member {
			return true
		}
		if found.Exists() {
			err = apierror.New(http.StatusBadRequest, "invalid_value", "%s is given twice", member)
			return false
		}
		found = value
		return true
	})
	return found, err
}

// Rename returns the body of a request that creates a batch of messages, with each model replaced by the provider's
// name. grow is called before more memory is used, with the total size needed. Errors are *apierror.Error.
func Rename(body []byte, names *Names, grow func(size int64) error) ([]byte, error) {
	requests, err := uniqueMember(gjson.ParseBytes(body), "requests")
	if err != nil {
		return nil, err
	}
	if !requests.IsArray() {
		return body, nil // the provider reports the mistake
	}
	type change struct {
		from, to int // the range of the model in body
		name     string
	}
	var changes []change
	number := 0
	requests.ForEach(func(_, request gjson.Result) bool {
		var model gjson.Result
		if model, err = modelIn(request, "params"); err == nil {
			var name string
			if name, err = names.AtProvider(model.Str); err == nil && name != model.Str {
				changes = append(changes, change{model.Index, model.Index + len(model.Raw), name})
			}
		}
		err = atLine(err, "requests.%d: ", number)
		number++
		return err == nil
	})
	if err != nil || len(changes) == 0 {
		return body, err
	}
	var out bytes.Buffer
	size := len(body)
	for _, c := range changes {
		size += 6*len(c.name) + 2 // JSON escapes a byte with at most six, and adds quotes
	}
	if err := grow(int64(size)); err != nil {
		return nil, err
	}
	out.Grow(size)
	copied := 0 // the length of the part of body that was copied or replaced
	for _, c := range changes {
		out.Write(body[copied:c.from])
		out.Write(gjson.AppendJSONString(nil, c.name))
		copied = c.to
	}
	out.Write(body[copied:])
	return out.Bytes(), nil
}
