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
	var o object
	if organisation := withSettings(nil, f.Organisation, f.ProviderKeys, f.Aliases); len(organisation) > 0 {
		o = append(o, field{"organisation", organisation})
	}
	teams := make([]object, 0, len(f.Teams))
	for i := range f.Teams {
		teams = append(teams, f.Teams[i].object())
	}
	users := make([]object, 0, len(f.Users))
	for i := range f.Users {
		users = append(users, f.Users[i].object())
	}
	o = append(o, field{"teams", teams}, field{"users", users})
	if f.Prices != nil {
		o = append(o, field{"prices", f.Prices.object()})
	}
	return o
}

// withSettings appends to o the settings of the organisation or of a team. Those that are nil are left out.
func withSettings(o object, limits *Limits, keys *ProviderKeys, aliases *Aliases) object {
	if limits != nil {
		o = append(o, field{"limits", limits.object()})
	}
	if keys != nil {
		o = append(o, field{"provider_keys", keys.object()})
	}
	if aliases != nil {
		o = append(o, field{"aliases", aliases.object()})
	}
	return o
}

// object returns the team in the form that Read parses.
func (t *Team) object() object {
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
	team := withSettings(object{{"name", t.Name}}, t.Limits, t.ProviderKeys, t.Aliases)
	return append(team, field{"members", members})
}

// object returns the user in the form that Read parses.
func (u *User) object() object {
	user := object{{"id", u.ID}}
	if u.Suspended != nil {
		user = append(user, field{"suspended", *u.Suspended})
	}
	if u.Limits != nil {
		user = append(user, field{"limits", u.Limits.object()})
	}
	return user
}

// object returns an object with those limits that are set.
func (l *Limits) object() object {
	return append(object{}, l.fields()...)
}

// fields returns the limits that are set, in the order of limitFields.
func (l *Limits) fields() (fields []field) {
	b := &l.Budgets
	// usd and number return an untyped nil for a limit that is not set, so that it is left out below.
	usd := func(m *spending.MicroUSD) any {
		if m == nil {
			return nil
		}
		return amount(m.String()) // keeps the decimal notation
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
