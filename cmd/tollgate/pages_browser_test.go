package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// addedUser matches the command that adds a user with a generated password.
var addedUser = regexp.MustCompile(`\bauthserver user add (\S+@\S+) .*--generate`)

// remember stores the password of a user whom a command has added.
func (r *reader) remember(command, printed string) {
	user, password := addedUser.FindStringSubmatch(command), madePassword.FindStringSubmatch(printed)
	if user != nil && password != nil {
		r.passwords[user[1]] = password[1]
	}
}

// inBrowser performs in a real browser the steps that the page describes above a block. person consists of a role,
// which selects the case in testdata/npm/team_gateway.mjs, and the mail address of a user who was added. inBrowser
// returns the text that the browser showed, which commands can refer to like output.
func (r *reader) inBrowser(position, person string) string {
	r.t.Helper()
	role, mail, _ := strings.Cut(person, " ")
	password := r.passwords[mail]
	if password == "" {
		r.t.Fatalf("%s: %s was not added before", position, mail)
	}
	shown := r.path(".shown")
	e2e.RunBrowserBeside(r.t, "team_gateway.mjs", "ROLE="+role, "MAIL="+mail, "PASSWORD="+password,
		"HTTPS_PORT="+r.port("443"), "SHOWN="+shown)
	text, err := os.ReadFile(shown)
	if err != nil {
		r.t.Fatalf("%s: %v%s", position, err, r.tails())
	}
	r.printed += string(text)
	return string(text)
}

// standIn returns a Caddyfile in which a scripted model replaces a model provider. An empty provider changes nothing.
func (r *reader) standIn(text, provider string) string {
	r.t.Helper()
	if provider == "" {
		return text
	}
	address := "http://127.0.0.1:" + r.port("scripted model")
	for before, more := range map[string]string{
		"\t\t\tprovider " + provider + " {\n": "\t\t\t\tbase_url " + address + "/v1\n",
		"\ttollgate {\n":                      "\t\tallow_networks 127.0.0.0/8\n",
	} {
		if !strings.Contains(text, before) {
			r.t.Fatalf("%s: its Caddyfile lacks %q", r.name, before)
		}
		text = strings.Replace(text, before, before+more, 1)
	}
	return text + "\n" + address + " {\n\tbind 127.0.0.1\n\tscripted_model\n}\n"
}
