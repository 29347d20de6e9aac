package board

import (
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/mailserver"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
)

func init() {
	directive.Register[Handler]("board")
}

// optionNames lists the options of the directive board.
var optionNames = []string{
	"base_url", "hold_first", "offline", "no_flood", "no_pages", "members_only", "attachments",
	"oidc", "mail", "language", "languages", "texts",
}

// UnmarshalCaddyfile parses the directive. Syntax:
//
//	board [<matcher>] {
//		base_url   <url>
//		hold_first <n>
//		offline
//		no_flood
//		no_pages
//		members_only
//		attachments <folder>|database
//		language   <tag>
//		languages  <tags...>
//		texts      <folder>
//		oidc <issuer> <client_id> [<client_secret>] {
//			...   # see oidc.Unmarshal
//		}
//		mail log
//		mail smtp[s]://<host>[:<port>] {
//			from     <address>
//			user     <name>
//			password <secret>
//		}
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // board
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "mail":
			h.Mail, err = mailserver.Unmarshal(d)
			return err
		case "oidc":
			h.OIDC, err = oidc.Unmarshal(d)
			return err
		}
		args := d.RemainingArgs()
		flag := map[string]*bool{
			"offline": &h.Offline, "no_flood": &h.NoFlood, "no_pages": &h.NoPages,
			"members_only": &h.MembersOnly,
		}[option] // nil for other options
		takesOne := slices.Contains([]string{"base_url", "hold_first", "attachments", "language", "texts"}, option)
		switch {
		case flag != nil && len(args) != 0, takesOne && len(args) != 1, option == "languages" && len(args) == 0:
			return d.ArgErr()
		case option == "language":
			h.Language = args[0]
		case option == "languages":
			h.Languages = args
		case option == "texts":
			h.Texts = directive.ResolvePath(d, args[0])
		case option == "base_url":
			h.BaseURL = args[0]
		case option == "attachments":
			h.Attachments = args[0]
		case option == "hold_first":
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return d.Errf("hold_first: %q is not a whole number", args[0])
			}
			h.HoldFirst = n
		case flag != nil:
			*flag = true
		default:
			return directive.NoOption(d, "board has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		return nil
	})
}

// UnmarshalCaddyfile parses the provider. Syntax:
//
//	board_token {
//		guest
//		bad_token <budget> <units> <limit> <window>
//	}
func (t *Token) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // board_token
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "guest":
			return directive.Flag(d, &t.Guest)
		case "bad_token":
			args := d.RemainingArgs()
			if len(args) != 4 {
				return d.ArgErr()
			}
			t.BadToken, err = parseCharge(d, args)
			return err
		}
		return directive.NoOption(d, "board_token: unknown option %q; there are: guest, bad_token", option)
	})
}

// parseCharge parses the arguments of bad_token: budget, units, limit and window.
func parseCharge(d *caddyfile.Dispenser, args []string) (*Charge, error) {
	units, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return nil, d.Errf("bad_token: %q is not a whole number", args[1])
	}
	limit, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return nil, d.Errf("bad_token: %q is not a whole number", args[2])
	}
	window, err := caddy.ParseDuration(args[3])
	if err != nil {
		return nil, d.Errf("bad_token: window: %v", err)
	}
	return &Charge{Name: args[0], Units: units, Limit: limit, Window: caddy.Duration(window)}, nil
}

// Interface guards
var (
	_ caddyfile.Unmarshaler = (*Handler)(nil)
	_ caddyfile.Unmarshaler = (*Token)(nil)
)
