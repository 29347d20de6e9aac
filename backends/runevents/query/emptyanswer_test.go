package query_test

import "testing"

// TestAbsent checks that every query for entities that are never stored returns nothing.
func TestAbsent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		for q, want := range map[string]string{
			`nodes[certname]{ resources { type = 'Class' and tag = 'x' and exported = true } }`:              `[]`,
			`nodes[certname]{ inventory { facts.os.family = 'RedHat' } }`:                                    `[]`,
			`nodes[certname]{ certname = 'special.example.com' and ! facts { value > 5 } }`:                  `[{"certname":"special.example.com"}]`,
			`nodes[certname]{ certname in facts[certname]{ name ~ '^k' and value in [1, true] } }`:           `[]`,
			`inventory[certname, facts.os.name]{ facts.os.name ~ 'D' order by trusted.domain }`:              `[]`,
			`inventory[facts."os release".major]{ facts."a.b".c = 1 }`:                                       `[]`,
			`inventory[certname]{ trusted.extensions."1.3.6.1"= 'x' or facts.x-y[0].é is null}`:              `[]`,
			`inventory{ facts.match("eth\d+ )").ip ~ '^10' and facts."quo"ted" = true order by facts."a b"}`: `[]`,
			`resources[parameters."a b", count()]{ group by parameters."a b" }`:                              `[]`,
			`fact_contents{ path ~> ["networking", ".*"] and value is not null }`:                            `[]`,
			`resources[type, count()]{ parameters.ensure = 'present' group by type }`:                        `[]`,
			`packages[count()]{ package_name = 'x' }`:                                                        `[{"count":0}]`,
			`packages[count()]{ limit 1 offset 1 }`:                                                          `[]`,
			`facts[count(), max(value), sum(value)]{ name = 'uptime' }`:                                      `[{"count":0,"max":null,"sum":null}]`,
			`catalogs[to_string(producer_timestamp, "YYYY")]{ }`:                                             `[]`,
			`["from","resources",["=",["parameter","ensure"],["present"]]]`:                                  `[]`,
			`["from","resources",["null?",["parameter","ensure"],true]]`:                                     `[]`,
			`["from","events",["in","timestamp",["extract","producer_timestamp",["select_catalogs"]]]]`:      `[]`,
		} {
			a := b.get("", "query", q, "include_total", "true")
			if a.status != 200 || a.body != want {
				t.Errorf("%s: %d %s, want %s", q, a.status, a.body, want)
			}
		}
		for q, want := range map[string]string{
			`["from","facts",["=","name"]]`:        "= requires exactly two arguments",
			`["from","facts",["=",5,5]]`:           `["=" 5 5] is not well-formed: a field must be a name or a list of names`,
			`["from","facts",["like","name","x"]]`: `["like" "name" "x"] is not well-formed: query operator 'like' is unknown`,
			`inventory{ facts."a.b = 1 }`:          "PQL parse error at line 1, column 18:\n\ninventory{ facts.\"a.b = 1 }\n                 ^\n\nExpected one of:\n\nthe end of a part of a path",
			`inventory{ facts.match(a = 1 }`:       "PQL parse error at line 1, column 18:\n\ninventory{ facts.match(a = 1 }\n                 ^\n\nExpected one of:\n\nthe end of a part of a path",
			`facts{ name ~ '(' }`:                  "ERROR: invalid regular expression: parentheses () not balanced",
			`facts[name, count()]{ }`:              "column 'name' must appear in the group_by clause or be used in an aggregate function",
		} {
			if a := b.get("", "query", q); a.status != 400 || a.body != want {
				t.Errorf("%s: %d %s, want %s", q, a.status, a.body, want)
			}
		}
		a := b.get("", "query", `facts[count()]{ }`, "include_total", "true")
		wantEqual(t, "total", a.header.Get("X-Records"), "1")
	})
}
