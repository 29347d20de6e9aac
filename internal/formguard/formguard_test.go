package formguard

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/signed"
)

func TestStamp(t *testing.T) {
	t.Parallel()
	key, shown := signed.Signer{Key: []byte("a key")}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := Stamp(key, "join", "browser", shown)
	check := func(key signed.Signer, form, browser, stamp string, after time.Duration) error {
		return Check(key, form, browser, stamp, shown.Add(after), 3*time.Second, time.Hour)
	}
	for after, want := range map[time.Duration]error{3 * time.Second: nil, time.Minute: nil, time.Hour: nil, time.Hour + time.Microsecond: ErrOld} {
		if err := check(key, "join", "browser", stamp, after); !errors.Is(err, want) {
			t.Errorf("after %s: %v", after, err)
		}
	}
	for after, wait := range map[time.Duration]time.Duration{0: 3 * time.Second, 2 * time.Second: time.Second, -time.Hour: 3 * time.Second} {
		if early, ok := errors.AsType[*EarlyError](check(key, "join", "browser", stamp, after)); !ok || early.Wait != wait || early.Error() == "" {
			t.Errorf("after %s: %+v", after, early)
		}
	}
	for name, err := range map[string]error{
		"key": check(signed.Signer{Key: []byte("b key")}, "join", "browser", stamp, time.Minute), "form": check(key, "reply", "browser", stamp, time.Minute), "browser": check(key, "join", "another", stamp, time.Minute),
		"moved": check(key, "joinb", "rowser", stamp, time.Minute), "none": check(key, "join", "browser", "", time.Minute), "longer": check(key, "join", "browser", stamp+"AAAA", time.Minute),
		"changed": check(key, "join", "browser", "B"+stamp[1:], time.Minute), "no base64": check(key, "join", "browser", "%"+stamp[1:], time.Minute),
	} {
		if !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	const accepted = "Vienna\r\n Wien \n\nthe  blue Danube"
	for answer, want := range map[string]bool{"vienna": true, " WIEN!": true, "The Blue danube.": true, "Ｗｉｅｎ": true, "": false, " ": false, "Linz": false, "Vienna Wien": false} {
		if Answered(answer, accepted) != want {
			t.Errorf("%q: %v", answer, !want)
		}
	}
	if Answered("", "") || Answered("", "\n!\n") {
		t.Error("an empty answer is accepted")
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for client, want := range map[string]string{
		"192.0.2.7": "192.0.2.0/24", "::ffff:192.0.2.7": "192.0.2.0/24", "2001:db8:1:2ff::9": "2001:db8:1:200::/56", "2001:db8:1:2ff::/64": "2001:db8:1:200::/56", "fe80::1%eth0": "fe80::/56", "@": "@", "": "",
	} {
		if got := Network(client); got != want {
			t.Errorf("%q: %s, want %s", client, got, want)
		}
	}
}
