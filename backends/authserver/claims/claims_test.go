package claims

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ann are the facts of a user with an example of each kind.
var ann = &Facts{
	Roles: []string{"admin", "shop:buyer", "shop:seller"}, Groups: []string{"staff", "staff/night"},
	Attributes: map[string][]string{
		"department": {"sales", "support"}, "level": {"7"}, "remote": {"true"},
		"odd": {"1e9"},
	},
}

// made returns the object with the claims that rules make of facts. It begins with the claim iss, as a token does.
func made(t *testing.T, rules []Rule, facts *Facts) map[string]any {
	t.Helper()
	text := Make(rules, facts).Append([]byte(`{"iss":"us"}`))
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if object["iss"] != "us" {
		t.Errorf("the object is %s", text)
	}
	delete(object, "iss")
	return object
}

func TestMake(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules []Rule
		want  string
	}{
		"nothing": {nil, `{}`},
		"roles":   {[]Rule{{Claim: "roles", From: Roles}}, `{"roles":["admin","shop:buyer","shop:seller"]}`},
		"with a prefix": {
			[]Rule{{Claim: "roles", From: Roles, Prefix: "shop:"}},
			`{"roles":["shop:buyer","shop:seller"]}`,
		},
		"without the prefix": {
			[]Rule{{Claim: "r", From: Roles, Prefix: "shop:", Strip: true}},
			`{"r":["buyer","seller"]}`,
		},
		"no role":      {[]Rule{{Claim: "roles", From: Roles, Prefix: "bank:"}}, `{"roles":[]}`},
		"groups":       {[]Rule{{Claim: "groups", From: Groups, Prefix: "staff/"}}, `{"groups":["staff/night"]}`},
		"an attribute": {[]Rule{{Claim: "dept", From: "attributes.department"}}, `{"dept":"sales"}`},
		"a list": {
			[]Rule{{Claim: "dept", From: "attributes.department", Type: List}},
			`{"dept":["sales","support"]}`,
		},
		"a number":               {[]Rule{{Claim: "level", From: "attributes.level", Type: Number}}, `{"level":7}`},
		"no number":              {[]Rule{{Claim: "level", From: "attributes.odd", Type: Number}}, `{}`},
		"a truth":                {[]Rule{{Claim: "remote", From: "attributes.remote", Type: Boolean}}, `{"remote":true}`},
		"no truth":               {[]Rule{{Claim: "remote", From: "attributes.level", Type: Boolean}}, `{}`},
		"an attribute of nobody": {[]Rule{{Claim: "x", From: "attributes.none"}}, `{}`},
		"in an object": {[]Rule{
			{Claim: "realm_access.roles", From: Roles, Prefix: "a"},
			{Claim: "realm_access.groups", From: Groups, Prefix: "x"},
		}, `{"realm_access":{"groups":[],"roles":["admin"]}}`},
		"in no object": {[]Rule{{Claim: "a.b.c", From: "attributes.none"}}, `{}`},
		"a URL": {
			[]Rule{{Claim: "https://shop.example/roles", From: Roles, Prefix: "a"}},
			`{"https://shop.example/roles":["admin"]}`,
		},
		"two lists of one name": {[]Rule{
			{Claim: "roles", From: Roles, Prefix: "a"},
			{Claim: "roles", From: Groups},
			{Claim: "roles", From: Roles, Prefix: "ad"},
		}, `{"roles":["admin","staff","staff/night"]}`},
		"two texts of one name": {[]Rule{
			{Claim: "x", From: "attributes.level"},
			{Claim: "x", From: "attributes.department"},
		}, `{"x":"7"}`},
		"within what another has": {[]Rule{{Claim: "x", From: "attributes.level"}, {Claim: "x.y", From: Roles}}, `{"x":"7"}`},
	}
	for name, test := range tests {
		got, err := json.Marshal(made(t, test.rules, ann))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, test.want)
		}
	}
}

// TestTooLarge checks that a claim that would make a token too large for a header is left out.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := &Facts{Attributes: map[string][]string{"small": {"x"}}}
	for i := range 100 {
		f.Roles = append(f.Roles, strings.Repeat("r", 95)+strconv.Itoa(i))
	}
	m := Make([]Rule{{Claim: "roles", From: Roles}, {Claim: "small", From: "attributes.small"}}, f)
	if text := m.Append([]byte(`{"iss":"us"}`)); string(text) != `{"iss":"us","small":"x"}` ||
		!slices.Equal(m.Omitted, []string{"roles"}) {
		t.Errorf("%s, left out %v", text, m.Omitted)
	}
}

func TestWanted(t *testing.T) { // not parallel: it counts allocations
	client := []Rule{{Claim: "a", In: []string{IDToken}}, {Claim: "b", Scope: "more"}, {Claim: "c"}}
	resource := []Rule{{Claim: "d"}}
	for place, want := range map[string]string{IDToken: "a c", AccessToken: "c", UserInfo: "c"} {
		var got []string
		for _, r := range Wanted(place, []string{"openid"}, client) {
			got = append(got, r.Claim)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", place, got)
		}
	}
	if got := Wanted(AccessToken, []string{"more"}, client, resource); len(got) != 3 {
		t.Errorf("with the scope: %v", got)
	}
	if n := testing.AllocsPerRun(100, func() { Wanted(AccessToken, []string{"openid"}, nil, nil) }); n != 0 {
		t.Errorf("without wanted claims there are %v allocations", n)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	many := make([]Rule, maxRules+1)
	for i := range many {
		many[i] = Rule{Claim: "c" + strconv.Itoa(i), From: Roles}
	}
	tests := map[string]struct {
		rules    []Rule
		resource bool
		param    string // the parameter of the refusal; empty: the rules are valid
	}{
		"none": {nil, false, ""},
		"good": {[]Rule{{
			Claim: "roles", From: Roles, Prefix: "a", Strip: true, Scope: "read",
			In: []string{AccessToken, IDToken, UserInfo}, Type: List,
		}}, false, ""},
		"two of one name": {
			[]Rule{{Claim: "roles", From: Roles, Prefix: "a"}, {Claim: "roles", From: Roles, Prefix: "b"}},
			false, "",
		},
		"neighbours":        {[]Rule{{Claim: "a.b", From: Roles}, {Claim: "a.c", From: Groups}}, false, ""},
		"too many":          {many, false, "claim_rules"},
		"no name":           {[]Rule{{From: Roles}}, false, "claim_rules[0].claim"},
		"a space":           {[]Rule{{Claim: "a b", From: Roles}}, false, "claim_rules[0].claim"},
		"not ASCII":         {[]Rule{{Claim: "rôles", From: Roles}}, false, "claim_rules[0].claim"},
		"an empty step":     {[]Rule{{Claim: "a..b", From: Roles}}, false, "claim_rules[0].claim"},
		"too deep":          {[]Rule{{Claim: "a.b.c.d", From: Roles}}, false, "claim_rules[0].claim"},
		"too long":          {[]Rule{{Claim: strings.Repeat("a", maxClaim+1), From: Roles}}, false, "claim_rules[0].claim"},
		"twice":             {[]Rule{{Claim: "a", From: Roles}, {Claim: "a", From: Roles}}, false, "claim_rules[1].claim"},
		"inside another":    {[]Rule{{Claim: "a", From: Roles}, {Claim: "a.b", From: Roles}}, false, "claim_rules[1].claim"},
		"around another":    {[]Rule{{Claim: "a.b", From: Roles}, {Claim: "a", From: Roles}}, false, "claim_rules[1].claim"},
		"from nowhere":      {[]Rule{{Claim: "a"}}, false, "claim_rules[0].from"},
		"from a strange":    {[]Rule{{Claim: "a", From: "password"}}, false, "claim_rules[0].from"},
		"from no attribute": {[]Rule{{Claim: "a", From: "attributes."}}, false, "claim_rules[0].from"},
		"prefix of a text":  {[]Rule{{Claim: "a", From: "attributes.x", Prefix: "a"}}, false, "claim_rules[0].prefix"},
		"strips nothing":    {[]Rule{{Claim: "a", From: Roles, Strip: true}}, false, "claim_rules[0].prefix"},
		"a long prefix": {
			[]Rule{{Claim: "a", From: Roles, Prefix: strings.Repeat("a", maxPrefix+1)}},
			false,
			"claim_rules[0].prefix",
		},
		"roles as a text":  {[]Rule{{Claim: "a", From: Roles, Type: Text}}, false, "claim_rules[0].type"},
		"a strange type":   {[]Rule{{Claim: "a", From: "attributes.x", Type: "object"}}, false, "claim_rules[0].type"},
		"two scopes":       {[]Rule{{Claim: "a", From: Roles, Scope: "read write"}}, false, "claim_rules[0].scope"},
		"a strange place":  {[]Rule{{Claim: "a", From: Roles, In: []string{"cookie"}}}, false, "claim_rules[0].in"},
		"a place twice":    {[]Rule{{Claim: "a", From: Roles, In: []string{IDToken, IDToken}}}, false, "claim_rules[0].in"},
		"of a resource":    {[]Rule{{Claim: "a", From: Roles, In: []string{AccessToken}}}, true, ""},
		"ID token of that": {[]Rule{{Claim: "a", From: Roles, In: []string{IDToken}}}, true, "claim_rules[0].in"},
		"the issuer":       {[]Rule{{Claim: "iss", From: Roles}}, false, "claim_rules[0].claim"},
		"in the key":       {[]Rule{{Claim: "cnf.jkt", From: Roles}}, false, "claim_rules[0].claim"},
		"confirmed address": {
			[]Rule{{Claim: "email_verified", From: "attributes.x", Type: Boolean}},
			false,
			"claim_rules[0].claim",
		},
		"whatever the case":  {[]Rule{{Claim: "Client_ID", From: Roles}}, false, "claim_rules[0].claim"},
		"the long s in iss":  {[]Rule{{Claim: "iſs", From: Roles}}, false, "claim_rules[0].claim"},
		"what is introspect": {[]Rule{{Claim: "active", From: Roles}}, false, "claim_rules[0].claim"},
	}
	for name, test := range tests {
		err := Check(test.rules, test.resource)
		switch {
		case test.param == "" && err != nil, test.param != "" && (err == nil || !strings.HasPrefix(err.Error(),
			"invalid_value: "+test.param+" ")):
			t.Errorf("%s: %v, want %q", name, err, test.param)
		}
	}
	for _, name := range reserved {
		for _, claim := range []string{name, strings.ToUpper(name), name + ".x"} {
			if Check([]Rule{{Claim: claim, From: Roles}}, false) == nil {
				t.Errorf("the reserved claim %s is accepted", claim)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	many := make([]string, maxRoles+1)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, roles := range map[string][]string{
		"many": many, "empty": {""}, "long": {strings.Repeat("r", maxRole+1)},
		"lines": {"a\nb"}, "twice": {"a", "a"}, "zero": {"a\x00"}, "no text": {"a\xff"},
	} {
		if RolesFault(roles) == "" {
			t.Errorf("%s roles are accepted", name)
		}
	}
	if fault := RolesFault([]string{"a", "Ä: b"}); fault != "" {
		t.Error(fault)
	}
	wide := make(map[string][]string)
	for _, name := range many {
		wide[name] = []string{"x"}
	}
	for name, attributes := range map[string]map[string][]string{
		"many": wide, "no name": {"": {"x"}}, "a strange name": {"a b": {"x"}}, "no value": {"a": {}},
		"many values": {"a": many}, "an empty value": {"a": {""}},
		"a long value": {"a": {strings.Repeat("x", maxValue+1)}}, "lines": {"a": {"b\nc"}},
	} {
		if AttributesFault(attributes) == "" {
			t.Errorf("attributes with %s are accepted", name)
		}
	}
	if fault := AttributesFault(ann.Attributes); fault != "" {
		t.Error(fault)
	}
}

// FuzzRules checks that valid rules always make a valid object, and never a claim that the server reserves.
func FuzzRules(f *testing.F) {
	f.Add(`[{"claim":"a.b","from":"roles","prefix":"x","strip_prefix":true},`+
		`{"claim":"https://x/y","from":"attributes.z","type":"number"}]`, "x:y", "1.5")
	f.Fuzz(func(t *testing.T, text, role, value string) {
		var rules []Rule
		if json.Unmarshal([]byte(text), &rules) != nil || Check(rules, false) != nil {
			return
		}
		attributes := make(map[string][]string)
		for _, r := range rules {
			if name, ok := strings.CutPrefix(r.From, Attribute); ok {
				attributes[name] = []string{value}
			}
		}
		var read struct {
			Issuer  string `json:"iss"`
			Subject string `json:"sub"`
			Client  string `json:"client_id"`
		}
		object := Make(rules, &Facts{
			Roles: []string{role}, Groups: []string{role},
			Attributes: attributes,
		}).Append([]byte(`{"iss":"us"}`))
		if err := json.Unmarshal(object, &read); err != nil || read.Issuer != "us" || read.Subject+read.Client != "" {
			t.Errorf("%s: %+v, error %v", object, read, err)
		}
		var names map[string]json.RawMessage
		if err := json.Unmarshal(object, &names); err != nil {
			t.Error(err)
		}
		for name := range maps.Keys(names) {
			if name != "iss" && slices.ContainsFunc(reserved, func(key string) bool { return strings.EqualFold(key, name) }) {
				t.Errorf("%s has %s", object, name)
			}
		}
	})
}
