package transit

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// UnmarshalCaddyfile sets up the module from its Caddyfile form:
//
//	transit [<encrypted key> [<old encrypted key>...]] {
//		address <url>
//		token   <token>
//		approle <role id> <secret id> [<mount>]
//		key     <name>
//		mount   <path>
//		ca      <file>
//		timeout <duration>
//		file    <path>
//		aes     <old master key>...
//	}
func (t *Transit) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module name
	t.Keys = d.RemainingArgs()
	return directive.Options(d, func(option string) error { return t.option(d, option) })
}

// option parses one option.
func (t *Transit) option(d *caddyfile.Dispenser, option string) error {
	if setting := map[string]*string{
		"address": &t.Address, "token": &t.Token, "key": &t.Name, "mount": &t.Mount, "ca": &t.CA, "file": &t.File,
	}[option]; setting != nil {
		return directive.Text(d, setting)
	}
	switch option {
	case "approle":
		args := d.RemainingArgs()
		if len(args) != 2 && len(args) != 3 {
			return d.ArgErr()
		}
		t.AppRole = &AppRole{RoleID: args[0], SecretID: args[1]}
		if len(args) == 3 {
			t.AppRole.Mount = args[2]
		}
	case "aes":
		return directive.Texts(d, &t.AES)
	case "timeout":
		return directive.Duration(d, &t.Timeout, "10s")
	default:
		return directive.NoOption(d,
			"unknown option %q; there are: address, token, approle, key, mount, ca, timeout, file, aes", option)
	}
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner        = (*Transit)(nil)
	_ caddyfile.Unmarshaler    = (*Transit)(nil)
	_ tollgate.KeyringProvider = (*Transit)(nil)
)
