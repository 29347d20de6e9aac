package declared

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// field is a field of an ordered object.
type field struct {
	name  string
	value any // a value that yaml.v3 can encode, or an object
}

// object is an object whose fields are written in this order.
type object []field

// MarshalYAML implements yaml.Marshaler.
func (o object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range o {
		var value yaml.Node
		if err := value.Encode(f.value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.name}, &value)
	}
	return n, nil
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(append(jsontext.AppendQuoted(nil, f.name), ':'))
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalYAML implements yaml.Marshaler. Read accepts the result.
func (f *File) MarshalYAML() (any, error) { return f.object(), nil }

// MarshalJSON implements json.Marshaler. Read accepts the result.
func (f *File) MarshalJSON() ([]byte, error) { return json.Marshal(f.object()) }

// object returns the file in the form that Read parses.
func (f *File) object() object {
	var o, organisation object
	if f.Organisation != nil {
		organisation = append(organisation, field{"limits", f.Organisation.object()})
	}
	if f.ProviderKeys != nil {
		organisation = append(organisation, field{"provider_keys", f.ProviderKeys.object()})
	}
	if f.Aliases != nil {
		organisation = append(organisation, field{"aliases", f.Aliases.object()})
	}
	if len(organisation) > 0 {
		o = append(o, field{"organisation", organisation})
	}
	teams := make([]object, 0, len(f.Teams))
	for _, t := range f.Teams {
		team := object{{"name", t.Name}}
		if t.Limits != nil {
			team = append(team, field{"limits", t.Limits.object()})
		}
		if t.ProviderKeys != nil {
			team = append(team, field{"provider_keys", t.ProviderKeys.object()})
		}
		if t.Aliases != nil {
			team = append(team, field{"aliases", t.Aliases.object()})
		}
		members := make([]object, 0, len(t.Members))
		for _, m := range t.Members {
			member := object{{"user", m.User}}
			if m.Role == keychain.RoleAdmin {
				member = append(member, field{"role", m.Role})
			}
			if m.Default {
				member = append(member, field{"default", true})
			}
			members = append(members, member)
		}
		teams = append(teams, append(team, field{"members", members}))
	}
	users := make([]object, 0, len(f.Users))
	for _, u := range f.Users {
		user := object{{"id", u.ID}}
		if u.Suspended != nil {
			user = append(user, field{"suspended", *u.Suspended})
		}
		if u.Limits != nil {
			user = append(user, field{"limits", u.Limits.object()})
		}
		users = append(users, user)
	}
	o = append(o, field{"teams", teams}, field{"users", users})
	if f.Prices != nil {
		o = append(o, field{"prices", f.Prices.object()})
	}
	return o
}

// object returns an object with those limits that are set.
func (l *Limits) object() object {
	return append(object{}, l.fields()...)
}

// fields returns the limits that are set, in the order of limitFields.
func (l *Limits) fields() (fields []field) {
	b := &l.Budgets
	usd := func(m *spending.MicroUSD) any { // keeps the decimal notation
		if m == nil {
			return nil
		}
		return amount(m.String())
	}
	number := func(n *int64) any {
		if n == nil {
			return nil
		}
		return *n
	}
	values := map[string]any{
		"usd_per_day": usd(b.USDPerDay), "usd_per_week": usd(b.USDPerWeek), "usd_per_month": usd(b.USDPerMonth),
		"usd_total":      usd(b.USDTotal),
		"tokens_per_day": number(b.TokensPerDay), "tokens_per_week": number(b.TokensPerWeek),
		"tokens_per_month": number(b.TokensPerMonth), "tokens_total": number(b.TokensTotal),
		"rate_limit_per_minute": number(l.RateLimitPerMinute), "tokens_per_minute": number(l.TokensPerMinute),
		"parallel_requests": number(l.ParallelRequests),
	}
	if l.ExpiresAt != nil {
		values["expires_at"] = l.ExpiresAt.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
	}
	if len(l.AllowedModels) > 0 {
		values["allowed_models"] = l.AllowedModels
	}
	if len(l.AllowedTools) > 0 {
		values["allowed_tools"] = l.AllowedTools
	}
	for _, f := range limitFields {
		if value := values[f.name]; value != nil {
			fields = append(fields, field{f.name, value})
		}
	}
	return fields
}

// amount is a decimal number that is written with exactly these digits, not as a float.
type amount string

// MarshalYAML implements yaml.Marshaler.
func (a amount) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(a)}, nil
}

// MarshalJSON implements json.Marshaler.
func (a amount) MarshalJSON() ([]byte, error) { return []byte(a), nil }
