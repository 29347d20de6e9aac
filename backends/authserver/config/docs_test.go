package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the page of the keys")

const page = "../../../docs/reference/authserver-config.md"

// TestPage checks that the reference page equals the page generated from the table.
func TestPage(t *testing.T) {
	t.Parallel()
	want := reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("docs/reference/authserver-config.md is not what the table makes (%v): run the test with -update", err)
	}
}

// reference returns the page.
func reference() string {
	var w strings.Builder
	w.WriteString(`# Keys of the authorization server

One YAML file, and the environment above it: built-in default, below the file, below the variable. A variable that is set and not empty wins. A list is written with
commas in a variable. A time has a unit: ` + "`30s`, `15m`, `24h`" + `. The key of a section that is not written, or has nothing behind it, has its default.

A key that is not on this page, a value that does not parse, and a rule that is not kept stop the server from starting; all errors are reported together, each with the
key and its variable. ` + "`tollgate authserver check --config <file>`" + ` tells them beforehand, and shows what is in effect without secrets.

A key whose name ends in ` + "`_env` or `_ref`" + ` has the name of a variable, which is read once at start; that variable must be set. Aliases and tags of YAML are not read.

In a value of the file ` + "`{$NAME}`" + ` is a variable, and ` + "`{$NAME:default}`" + ` one that may not be set, as in a Caddyfile; a value that begins with one is quoted.

`)
	section := ""
	for i := range keys {
		k := &keys[i]
		name, _, below := strings.Cut(k.Name, ".")
		if !below {
			name = "Others"
		}
		if name != section {
			if section != "" {
				w.WriteString("\n")
			}
			section = name
			heading := "`" + name + "`"
			if !below {
				heading = name
			}
			fmt.Fprintf(&w, "## %s\n\n| Key | Type | Default | Variable | |\n|---|---|---|---|---|\n", heading)
		}
		fmt.Fprintf(&w, "| `%s` | %s | %s | %s | %s |\n", k.Name, typeOf(k), code(k.Default), code(k.Variable()), k.Rule)
	}
	w.WriteString(`
## ` + "`clients`" + `

A list of clients to make where the database has none with their id, for those that others know beforehand, such as a [console](../how-to/own-sign-in.md). A later change
of the file does not change what is there. They have no secret: clients that have one are made by the [administration](authserver-endpoints.md#for-administrators), which shows it.

| Member | |
|---|---|
| ` + "`client_id`" + ` | unique: letters, digits, points, hyphens, underscores |
| ` + "`client_name`" + ` | what people read |
| ` + "`redirect_uris`, `post_logout_redirect_uris`" + ` | where browsers may be sent |
| ` + "`backchannel_logout_uri`" + ` | where the client is notified when a session ends |
| ` + "`grant_types`, `response_types`" + ` | default: ` + "`authorization_code`, `code`" + ` |
| ` + "`token_endpoint_auth_method`" + ` | ` + "`none`" + ` (default) or ` + "`private_key_jwt`, with `jwks`" + ` |
| ` + "`scope`" + ` | what it may ask for at most; default: what the resources declare |
| ` + "`first_party`" + ` | true: an application of your own, such as a console of Tollgate; people are not asked what it may do. Default: false |
| ` + "`claim_rules`" + ` | [claims of users](../how-to/claims.md) that it gets |
| ` + "`agent`, `agent_description`" + ` | true: it acts on its own; its tokens contain ` + "`agent_id`" + ` |

## ` + "`resources`" + `

A list of resources to make where the database has none with their slug. A later change of the file does not change what is there.

| Member | |
|---|---|
| ` + "`slug`" + ` | its name, unique: letters, digits, points, hyphens, underscores |
| ` + "`uri`" + ` | absolute and unique; required of ` + "`mint`" + ` |
| ` + "`backend_kind`" + ` | ` + "`mint`" + ` (default): tokens are made here; ` + "`broker`" + `: they are those of an upstream |
| ` + "`display_name`" + ` | what people read |
| ` + "`scopes`" + ` | a list of ` + "`name`, `description`" + ` and, of ` + "`broker`, `upstream`" + ` (a word or a list) |
| ` + "`broker_provider_slug`" + ` | of ` + "`broker`" + `: the provider; also written ` + "`BrokerProviderSlug`" + `, or by its ` + "`broker_provider_id`" + ` |
| ` + "`claim_rules`" + ` | of ` + "`mint`" + `: [claims of users](../how-to/claims.md) in its access tokens |
| ` + "`policy`" + ` | ` + "`exchange.allowed_client_ids`, `runtime.client_ids`, `connect.allowed_return_urls`" + ` |

## ` + "`broker_providers`" + `

A list of upstream providers, made in the same way: ` + "`slug`, `display_name`, `protocol` (`oauth`, `api_key` or `service_account`), `config_data`" + ` by protocol, read at first use.

## ` + "`upstreams`" + `

A list of further OpenID providers that [people sign in with](../how-to/upstream-providers.md), beside that of ` + "`oidc`" + `. The list in the file is always in effect: users can no longer sign in with a provider whose entry was removed.

| Member | |
|---|---|
| ` + "`slug`" + ` | its name, unique: lower-case letters, digits, hyphens. The provider sends people back to ` + "`<server.issuer>/oidc/<slug>/callback`" + ` |
| ` + "`issuer`" + ` | as its tokens have it (` + "`iss`" + `): https, or http on this machine; unique, and not that of ` + "`oidc`" + ` |
| ` + "`client_id`, `client_secret_env`" + ` | what this server is there, and the name of the variable with its secret; default: a public client |
| ` + "`display_name`" + ` | what the button says; default: the host of the issuer |
| ` + "`scopes`" + ` | what is asked for; default: ` + "`openid`, `email`, `profile`" + ` |
| ` + "`parameters`" + ` | what is added to the address there, such as ` + "`hd: example.com`" + `; none of the flow itself |
| ` + "`domains`" + ` | those of mail addresses whose people sign in there, in lower case; each of one provider alone |
| ` + "`hidden`" + ` | true: no button, so that it is found by ` + "`domains`" + ` alone. Default: false |
| ` + "`claims`" + ` | ` + "`username`, `email`, `name`, `groups`" + `: the claims that are read, ` + "`preferred_username`, `email`, `name`, `groups`" + ` by default; ` + "`realm_access.roles`" + ` leads into an object |
| ` + "`trust_email`" + ` | true: its mail addresses are confirmed, although it does not say so (` + "`email_verified`" + `). Default: false |
| ` + "`groups`" + ` | by group of the provider, the group or groups here that it stands for; others are not taken over |
| ` + "`registration`" + ` | ` + "`open`" + `: who comes for the first time gets an account; ` + "`off`" + ` (default): nobody does |
| ` + "`registration_domains`" + ` | those that the mail address must have for that, in lower case; default: all |
`)
	return w.String()
}

func code(text string) string {
	if text == "" {
		return "-"
	}
	return "`" + text + "`"
}

// typeOf returns the name of a key's type: string, bool, int, float, duration or list of string.
func typeOf(k *Key) string {
	switch k.pointer(new(Config)).(type) {
	case *bool:
		return "bool"
	case *int:
		return "int"
	case *float64:
		return "float"
	case *time.Duration:
		return "duration"
	case *[]string:
		return "list of string"
	}
	return "string"
}
