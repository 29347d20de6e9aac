package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

func TestStore(t *testing.T) {
	t.Parallel()
	site := t.TempDir()
	s, err := settings.Open(site)
	if err != nil {
		t.Fatal(err)
	}
	fresh := s.Current()
	if fresh.Mount() != "api" || fresh.Mode() != settings.None || fresh.ContentMode() != settings.ContentOff || fresh.Lifetime() != 24*time.Hour || fresh.JWTSecret != "" {
		t.Errorf("a fresh site has %+v", fresh)
	}
	if err := s.Save(settings.Settings{Auth: settings.JWT, Endpoint: "rest/v1"}); err != nil {
		t.Fatal(err)
	}
	secret := s.Current().JWTSecret
	if len(secret) != 172 || s.Current().ContentMode() != settings.ContentRead {
		t.Errorf("saved %+v", s.Current())
	}
	path := filepath.Join(site, settings.File)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info, err)
	}
	if changed, err := s.Reload(); changed || err != nil {
		t.Errorf("its own file: %v %v", changed, err)
	}
	changed := *s.Current()
	changed.Debug = true
	if err := s.Save(changed); err != nil || s.Current().JWTSecret != secret {
		t.Errorf("saved again: %v, another secret: %v", err, s.Current().JWTSecret != secret)
	}
	other, err := settings.Open(site) // another node
	if err != nil || other.Current().JWTSecret != secret || other.Current().Mount() != "rest/v1" {
		t.Errorf("another node: %+v %v", other.Current(), err)
	}
	for _, bad := range []string{"{", `{"endpont":"x"}`, `{"auth":"basic"}`, "{} {}", "[]", strings.Repeat(" ", 300<<10)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if changed, err := s.Reload(); changed || err == nil {
			t.Errorf("%.20q: reloaded %v, error %v, want an error", bad, changed, err)
		}
	}
	if s.Current().JWTSecret != secret {
		t.Error("a bad file has changed the settings")
	}
	if err := os.WriteFile(path, []byte(`{"endpoint":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Reload(); !changed || err != nil || s.Current().Mount() != "api" {
		t.Errorf("an empty endpoint: %v %v %q", changed, err, s.Current().Mount())
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, s := range []settings.Settings{
		{Endpoint: "/api"},
		{Endpoint: "api/"},
		{Endpoint: "Api"},
		{Endpoint: "a//b"},
		{Endpoint: "a b"},
		{Auth: "x"},
		{Content: "x"},
		{JWTSecret: "short"},
		{JWTSeconds: 59},
		{JWTSeconds: -1},
		{Origins: []string{"example.com"}},
		{Origins: []string{"https://example.com/"}},
		{Origins: []string{"https://a@example.com"}},
		{Origins: []string{"ftp://example.com"}},
		{Origins: []string{"https://Example.com"}},
		{FetchHosts: []string{"http://x"}},
		{FetchHosts: []string{""}},
		{SiteURL: "www.example.com"},
		{SiteURL: "https://a@www.example.com"},
		{SiteURL: "https://www.example.com/?a"},
	} {
		if s.Check() == nil {
			t.Errorf("no error for %+v", s)
		}
	}
	s := settings.Settings{Origins: []string{"https://app.example.com", "http://localhost:3000"}}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if ok, credentials := s.Allowed("http://localhost:3000"); !ok || !credentials {
		t.Errorf("a listed origin: allowed %v, with credentials %v, want both", ok, credentials)
	}
	if ok, _ := s.Allowed("http://localhost"); ok {
		t.Error("an origin with another port is allowed")
	}
	s.Origins = append(s.Origins, "*")
	if ok, credentials := s.Allowed("https://other.example"); !ok || credentials {
		t.Errorf("an origin that only * allows: allowed %v, with credentials %v, want true, false", ok, credentials)
	}
	if _, credentials := s.Allowed("*"); credentials {
		t.Error("the origin * may send credentials")
	}
	if ok, _ := s.Allowed(""); ok {
		t.Error("a request without an origin is allowed")
	}
}
