package spending

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// appendPacked appends a Record in the form of the column record, which leaves out the columns at and user_id. The
// form is a JSON array, since member names would double its size. It is a single column, since each further value in
// a row costs time. The view gateway_usage names the positions of the array. New values are added at the end.
func appendPacked(dst []byte, r *Record) ([]byte, error) {
	p := packer(append(dst, '['))
	p.text(tidy(r.RequestID))
	p.text(r.KeyID)
	p.text(r.Surface)
	p.text(tidy(r.AskedModel))
	p.text(tierText(r.Tier))
	p.text(r.Provider)
	p.text(tidy(r.Model))
	p.number(int64(schema.Flag(r.Stream)))
	p.number(int64(r.Status))
	p.text(tidy(r.Code))
	p.number(int64(r.Attempts))
	if err := p.attempts(r.FailedAttempts); err != nil {
		return nil, err
	}
	p.number(r.InputTokens)
	p.number(r.CachedTokens)
	p.number(r.OutputTokens)
	p.number(r.ReasoningTokens)
	p.text(r.UsageSource)
	if r.CostKnown {
		p.number(r.CostMicroUSD)
	} else {
		p = append(p, "null,"...)
	}
	p.number(r.Latency.Microseconds())
	p.number(r.FirstToken.Microseconds())
	p.text(r.ProviderKey)
	labelled := len(r.Tags) > 0 || r.EndUser != "" || r.WrittenTokens != 0
	if len(r.ServedAs) > 0 || len(r.ServerTools) > 0 || r.TeamID != "" || labelled { // rows without these are shorter
		p.text(strings.Join(r.ServedAs, " "))
		if err := p.tools(r.ServerTools); err != nil {
			return nil, err
		}
	}
	if r.TeamID != "" || labelled {
		p.text(r.TeamID)
	}
	if labelled {
		p.number(r.WrittenTokens)
		p.text(strings.Join(r.Tags, ","))
		p.text(r.EndUser)
	}
	p[len(p)-1] = ']' // in place of the last comma
	return p, nil
}

// parsePacked parses a text written by appendPacked. Values that older rows do not have are zero.
func parsePacked(text string) (r Record, err error) {
	values := gjson.Parse(text).Array()
	next := func() (v gjson.Result) { // removes the first value
		if len(values) > 0 {
			v, values = values[0], values[1:]
		}
		return v
	}
	r.RequestID = next().String()
	r.KeyID = next().String()
	r.Surface = next().String()
	r.AskedModel = next().String()
	r.Tier, _ = catalog.ParseTier(next().String())
	r.Provider = next().String()
	r.Model = next().String()
	r.Stream = next().Int() != 0
	r.Status = int(next().Int())
	r.Code = next().String()
	r.Attempts = int(next().Int())
	if failed := next(); failed.IsArray() {
		if err = json.Unmarshal([]byte(failed.Raw), &r.FailedAttempts); err != nil {
			err = fmt.Errorf("reading failed attempts: %w", err)
		}
	}
	r.InputTokens = next().Int()
	r.CachedTokens = next().Int()
	r.OutputTokens = next().Int()
	r.ReasoningTokens = next().Int()
	r.UsageSource = next().String()
	cost := next()
	r.CostMicroUSD, r.CostKnown = cost.Int(), cost.Type == gjson.Number
	r.Latency = time.Duration(next().Int()) * time.Microsecond
	r.FirstToken = time.Duration(next().Int()) * time.Microsecond
	r.ProviderKey = next().String()
	if served := next().String(); served != "" {
		r.ServedAs = strings.Split(served, " ")
	}
	if tools := next(); tools.IsObject() {
		r.ServerTools = make(map[string]int64)
		tools.ForEach(func(tool, calls gjson.Result) bool {
			r.ServerTools[tool.String()] = calls.Int()
			return true
		})
	}
	r.TeamID = next().String()
	r.WrittenTokens = next().Int()
	if tags := next().String(); tags != "" {
		r.Tags = strings.Split(tags, ",")
	}
	r.EndUser = next().String()
	return r, err
}

// packer appends JSON values, each followed by a comma.
type packer []byte

func (p *packer) text(value string) {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			*p = append(gjson.AppendJSONString(*p, value), ',')
			return
		}
	}
	*p = append(append(append(*p, '"'), value...), '"', ',') // nearly all texts need no escaping
}

func (p *packer) number(value int64) {
	*p = append(strconv.AppendInt(*p, value, 10), ',')
}

// attempts appends the failed attempts, or an empty string if there are no failed attempts.
func (p *packer) attempts(failed []apierror.Attempt) error {
	if len(failed) == 0 {
		p.text("")
		return nil
	}
	failed = slices.Clone(failed)
	for i := range failed {
		a := &failed[i]
		a.Provider, a.Model, a.Code, a.Message = schema.Storable(a.Provider), schema.Storable(a.Model),
			schema.Storable(a.Code), schema.Storable(a.Message)
	}
	list, err := json.Marshal(failed)
	if err != nil {
		return fmt.Errorf("encoding failed attempts: %w", err)
	}
	*p = append(append(*p, list...), ',')
	return nil
}

// tools appends an object, or null for no calls.
func (p *packer) tools(calls map[string]int64) error {
	object, err := json.Marshal(calls)
	*p = append(append(*p, object...), ',')
	return err
}

// tidy shortens a text from outside and removes characters that the database does not accept.
func tidy(text string) string {
	const limit = 500
	return schema.Storable(text[:min(len(text), limit)])
}

// tierText returns the column value of a tier.
func tierText(t catalog.Tier) string {
	if t == 0 {
		return ""
	}
	return t.String()
}
