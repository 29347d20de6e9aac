package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// TestLines checks that an error of loading a Caddyfile names its line, whatever module reports it.
func TestLines(t *testing.T) { // not parallel: provisioning sets Caddy's default logger
	for name, c := range map[string]struct{ file, want string }{
		"the first line": {`
http://localhost {
	cascade /v1/*
}`, "Caddyfile:3: no handler verifies a key before cascade: put `api_auth gateway_key` before it"},
		"an option of a directive": {`
http://localhost {
	route {
		api_auth gateway_key
		cascade {
			idle 5s
			default_tier giant
		}
	}
}`, `Caddyfile:7: default_tier: unknown tier "giant", known are low, medium, high`},
		"an option of the short form": {`
http://localhost {
	tollgate gateway {
		cascade {
			default_tier giant
		}
	}
}`, `Caddyfile:5: default_tier: unknown tier "giant"`},
		"the short form": {`
http://localhost {
	tollgate board
	tollgate events {
		report_ttl 1d
	}
	tollgate authserver {
		config nothing.json
	}
}`, `Caddyfile:8: the settings of the authorization server nothing.json`},
		"the second of two": {`
http://a.localhost, http://b.localhost {
	budget {
		limit 10
		cost 2 /a
	}
	respond hi
}
http://c.localhost {
	handle_path /x/* {
		budget {
			limit 10
			cost 2 /a
			cost 3 /b{
		}
		respond hi
	}
}`, `Caddyfile:14: cost 2: pattern`},
		"a missing option": {`
http://localhost {
	api_auth user_jwt {
		issuer https://id.example.com
	}
	respond hi
}`, "Caddyfile:3: audience is required"},
		"errors": {`
http://localhost {
	respond hi
	handle_errors {
		budget {
			limit 10
			cost 1 nothing
		}
	}
}`, `Caddyfile:7: cost 1: pattern "nothing" must start with / or be *`},
		"a named route": {`
&(limited) {
	budget {
		limit 10
		cost 1 nothing
	}
}
http://localhost {
	invoke limited
}`, `Caddyfile:5: cost 1: pattern "nothing"`},
		"a snippet": {`
(mail) {
	board {
		mail smtp://
	}
}
http://localhost {
	import mail
}`, "Caddyfile:4: mail: the server must be a URL such as smtp://mail.example.com:587"},
		"networks": {`
{
	tollgate {
		allow_networks 10.0.0.0/8 10.0.0.0/99
	}
}
http://localhost {
	tollgate gateway
}`, `Caddyfile:4: allow_networks: "10.0.0.0/99" is not a network such as 127.0.0.0/8`},
		"the second provider": {`
{
	tollgate {
		catalog {
			provider openai {
				base_url http://127.0.0.1:1/v1
			}
			provider groq {
				base_url nonsense
			}
		}
	}
}
http://localhost {
	tollgate gateway
}`, "Caddyfile:9: model catalog: provider groq: base_url: must be an absolute http or https URL"},
		"a variable that is not set": {`
{
	tollgate {
		database board postgres {env.TOLLGATE_TEST_NOT_SET}
	}
}
http://localhost {
	tollgate board
}`, "Caddyfile:4: dsn: the environment variable TOLLGATE_TEST_NOT_SET is not set"},
		"the address of a database": {`
{
	tollgate {
		database sqlite ok.db
		database board postgres nonsense://x
	}
}
http://localhost {
	tollgate board
}`, "Caddyfile:5: postgres: dsn is neither a URL"},
		"mail": {`
http://localhost {
	tollgate board {
		mail smtp://mail.example.com:587 {
			from forum@example.com
			user forum
			password {env.TOLLGATE_TEST_NOT_SET}
		}
	}
}`, "Caddyfile:7: mail: password: the environment variable TOLLGATE_TEST_NOT_SET is not set"},
		"counters": {`
{
	tollgate {
		counters redis nonsense
	}
}
http://localhost {
	tollgate gateway
}`, "Caddyfile:4: "},
		"a key": {`
{
	tollgate {
		keyring aes c2hvcnQ=
	}
}
http://localhost {
	tollgate gateway
}`, "Caddyfile:4: "},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: see above
			t.Chdir(t.TempDir())
			var config caddy.Config
			if err := json.Unmarshal(mustAdapt(t, c.file), &config); err != nil {
				t.Fatal(err)
			}
			config.Logging = &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}}
			err := caddy.Validate(&config)
			if err == nil {
				t.Fatal("the configuration is valid")
			}
			for command, err := range map[string]error{
				"run":    errors.New("loading initial config: loading new config: " + err.Error()),
				"reload": errors.New(`sending configuration to instance: caddy responded with error: HTTP 400: {"error":` + quoted(t, "loading config: loading new config: "+err.Error()) + "}\n"),
				"adapt":  errors.New("validation: " + err.Error()),
			} {
				if got := directive.Explain("Caddyfile", []byte(c.file), err); !strings.HasPrefix(got, c.want) {
					t.Errorf("%s: %q of %q, want %q", command, got, err, c.want)
				}
			}
		})
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	q, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(q)
}
