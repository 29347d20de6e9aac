package authserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// seals is the status of a provider that is made, whose secret has to be sealed.
func (f *flipped) seals() string {
	return f.admin(http.MethodPost, "/broker-providers", `{"slug":"chat","protocol":"oauth","config_data":{"client_id":"c","client_secret":"s","authorize_url":"https://a.example","token_url":"https://a.example"}}`).status()
}

// opens tells whether the server reads what was sealed.
func (f *flipped) opens() string {
	return fmt.Sprint(f.admin(http.MethodPost, "/encryption/re-encrypt", "").body["failed"] == 0.0)
}

// encryptionFlips are of what seals secrets in the database.
func encryptionFlips(t *testing.T) map[string]flip {
	t.Helper()
	master := func(name string) keys {
		return keys{"data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": name}
	}
	const section = "data_encryption.kms_transit_encrypt."
	far := func(at *management) keys {
		return keys{
			"data_encryption.driver": "kms_transit_encrypt", section + "address": at.address, section + "key_name": "data", section + "auth_method": "approle", section + "token_env": "KMS_TOKEN",
			section + "approle.role_id_env": "KMS_ROLE", section + "approle.secret_id_env": "KMS_SECRET",
		}
	}
	first, second := newManagement(t).sealer(t, "transit", "data"), newManagement(t).sealer(t, "transit", "data")
	// sealed is whether a provider is made, and whether the key management server was asked
	// something for it.
	sealed := func(what string, more keys) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			m := newManagement(t).sealer(t, "transit", "data").sealer(t, "other", "data").sealer(t, "transit", "other")
			return begin(t, far(m), more, key).seals() + " " + m.was(what)
		}
	}
	return map[string]flip{
		"data_encryption.driver": {nil, "aes_master", func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, keys{"data_encryption.aes_master.key_env": "MASTER"}, key).seals()
		}, "422", "201"},
		"data_encryption.aes_master.key_env": {"MASTER", "OTHER_MASTER", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, master("MASTER"))
			f.seals()
			again, err := start(t, f.db, master("MASTER"), key)
			if err != nil {
				t.Fatal(err)
			}
			return again.opens()
		}, "true", "false"},
		"data_encryption.aes_master.old_key_env": {nil, "MASTER", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, master("MASTER"))
			f.seals()
			again, err := start(t, f.db, master("OTHER_MASTER"), key)
			if err != nil {
				t.Fatal(err)
			}
			return again.opens()
		}, "false", "true"},
		section + "address": {first.address, second.address, func(t *testing.T, key keys) string {
			t.Helper()
			begin(t, far(first), key).seals()
			return first.was("transit/encrypt/data") + " " + second.was("transit/encrypt/data")
		}, "true false", "true true"},
		section + "auth_method":           {"token", "approle", sealed("auth/approle/login", nil), "201 false", "201 true"},
		section + "token_env":             {"BAD", "KMS_TOKEN", sealed("transit/encrypt/data", keys{section + "auth_method": "token"}), "500 true", "201 true"},
		section + "approle.role_id_env":   {"BAD", "KMS_ROLE", sealed("transit/encrypt/data", nil), "500 false", "201 true"},
		section + "approle.secret_id_env": {"BAD", "KMS_SECRET", sealed("transit/encrypt/data", nil), "500 false", "201 true"},
		section + "key_name":              {"data", "other", sealed("transit/encrypt/other", nil), "201 false", "201 true"},
		section + "mount_path":            {nil, "other", sealed("other/encrypt/data", nil), "201 false", "201 true"},
		// A secret that is hashed with the pepper is of no use without it.
		"client_secret_pepper": {nil, "a pepper", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			id, secret := f.client(map[string]any{"grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}, "token_endpoint_auth_method": "client_secret_post"})
			without, err := start(t, f.db)
			if err != nil {
				t.Fatal(err)
			}
			return without.public(http.MethodPost, "/oauth/token", strings.Join([]string{"grant_type=client_credentials", "client_id=" + id, "client_secret=" + secret}, "&")).says()
		}, "200", "invalid_client"},
	}
}
