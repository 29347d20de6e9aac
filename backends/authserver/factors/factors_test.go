package factors_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

const browser = "browser"

// desk is the package's state with a user who has set up an app.
type desk struct {
	authtest.Kernel
	t        *testing.T
	factors  *factors.Factors
	users    *users.Users
	ann      *users.User
	secret   string
	recovery []string
}

func newDesk(t *testing.T, k authtest.Kernel) *desk {
	t.Helper()
	d := &desk{Kernel: k, t: t}
	d.factors = d.room(strings.Repeat("0", 64), "")
	d.users = &users.Users{Server: k.Server, Passwords: password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}}
	var err error
	if d.ann, err = d.users.Create(t.Context(), users.New{Email: "ann@example.com"}, "admin"); err != nil {
		t.Fatal(err)
	}
	d.secret, d.recovery = d.app("Telephone")
	return d
}

// room returns factors that share the database of d, with the current and the old master key.
func (d *desk) room(current, old string) *factors.Factors {
	d.t.Helper()
	master, err := encryption.NewMaster(current, old)
	if err != nil {
		d.t.Fatal(err)
	}
	room, err := factors.New(d.Server, factors.Options{Encryptor: master})
	if err != nil {
		d.t.Fatal(err)
	}
	return room
}

// app sets up an app and returns its secret and the new recovery codes.
func (d *desk) app(name string) (secret string, recovery []string) {
	d.t.Helper()
	draft, err := d.factors.NewApp(d.ann, browser)
	if err != nil {
		d.t.Fatal(err)
	}
	secret = strings.ReplaceAll(draft.Secret, " ", "")
	recovery, err = d.factors.AddApp(d.t.Context(), d.ann, browser, draft.Signed, name, d.code(secret))
	if err != nil {
		d.t.Fatal(err)
	}
	return secret, recovery
}

func (d *desk) code(secret string) string {
	d.t.Helper()
	code, err := totp.GenerateCode(secret, d.Clock.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

// TestParallelCodes checks that only one of several concurrent uses of the same code succeeds.
func TestParallelCodes(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		d.Clock.Pass(time.Minute)
		for label, code := range map[string]string{"an app's": d.code(d.secret), "for recovery": d.recovery[0]} {
			var good atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					method, err := d.factors.Check(t.Context(), d.ann, browser, factors.Proof{Code: code})
					switch {
					case err == nil && method == factors.ByCode:
						good.Add(1)
					case !errors.Is(err, factors.ErrWrong):
						t.Errorf("%s: %v", label, err)
					}
				})
			}
			all.Wait()
			if good.Load() != 1 {
				t.Errorf("%s: good %d times", label, good.Load())
			}
			if _, err := d.factors.Check(t.Context(), d.ann, browser, factors.Proof{Code: d.recovery[len(label)%9+1]}); err != nil { // a success resets the count of failures
				t.Error(err)
			}
		}
	})
}

// TestSealed checks that secrets are sealed, bound to their rows, and included when data is sealed again.
func TestSealed(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		d.Clock.Pass(time.Minute)
		zero, newKey := strings.Repeat("0", 64), strings.Repeat("1", 64)
		lost := d.room(newKey, "")
		if _, err := lost.Check(t.Context(), d.ann, browser, factors.Proof{Code: d.code(d.secret)}); err == nil || errors.Is(err, factors.ErrWrong) {
			t.Errorf("without the key: %v", err)
		}
		moved, err := encryption.NewMaster(newKey, zero)
		if err != nil {
			t.Fatal(err)
		}
		done, err := encryption.Reseal(t.Context(), k.Server, moved, []encryption.Column{factors.Sealed}, nil)
		if err != nil || done.Rewritten != 1 || done.Failed != 0 {
			t.Fatalf("%+v: %v", done, err)
		}
		if _, err := lost.Check(t.Context(), d.ann, browser, factors.Proof{Code: d.code(d.secret)}); err != nil {
			t.Errorf("with the new key: %v", err)
		}
		bare, err := factors.New(k.Server, factors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = bare.NewApp(d.ann, browser)
		if e, _ := apierror.From(err); bare.Apps() || e == nil || !strings.Contains(e.Message, "data_encryption.driver") {
			t.Errorf("without an encryptor: %v", err)
		}
	})
}

// TestDraft checks that a draft belongs to one browser and one user, and expires.
func TestDraft(t *testing.T) {
	t.Parallel()
	d := newDesk(t, authtest.SQLite(t))
	draft, err := d.factors.NewApp(d.ann, browser)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.ReplaceAll(draft.Secret, " ", "")
	bob, err := d.users.Create(t.Context(), users.New{Email: "bob@example.com"}, "admin")
	if err != nil {
		t.Fatal(err)
	}
	try := func(u *users.User, in, signed, name, code string) int {
		t.Helper()
		_, err := d.factors.AddApp(t.Context(), u, in, signed, name, code)
		e, ok := apierror.From(err)
		if !ok {
			t.Fatalf("%v", err)
		}
		return e.Status
	}
	for label, status := range map[string][2]int{
		"another browser": {try(d.ann, "other", draft.Signed, "A", d.code(secret)), http.StatusBadRequest},
		"another user":    {try(bob, browser, draft.Signed, "A", d.code(secret)), http.StatusBadRequest},
		"junk":            {try(d.ann, browser, "junk", "A", d.code(secret)), http.StatusBadRequest},
		"a wrong code":    {try(d.ann, browser, draft.Signed, "A", ""), http.StatusUnprocessableEntity},
		"no name":         {try(d.ann, browser, draft.Signed, " ", d.code(secret)), http.StatusUnprocessableEntity},
		"a long name":     {try(d.ann, browser, draft.Signed, strings.Repeat("x", 61), d.code(secret)), http.StatusUnprocessableEntity},
	} {
		if status[0] != status[1] {
			t.Errorf("%s: %d", label, status[0])
		}
	}
	d.Clock.Pass(10 * time.Minute)
	if got := try(d.ann, browser, draft.Signed, "A", d.code(secret)); got != http.StatusBadRequest {
		t.Errorf("an old proof: %d", got)
	}
	if list, err := d.factors.Of(t.Context(), bob.ID); err != nil || len(list) != 0 {
		t.Errorf("Bob has %v: %v", list, err)
	}
}

// TestMaxFactors checks that the number of factors is bounded, and that a user cannot remove those of another user.
func TestMaxFactors(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		for i := range 19 {
			if _, codes := d.app("App " + strconv.Itoa(i)); len(codes) != 0 {
				t.Error("there are recovery codes again")
			}
		}
		draft, err := d.factors.NewApp(d.ann, browser)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.factors.AddApp(t.Context(), d.ann, browser, draft.Signed, "One more", d.code(strings.ReplaceAll(draft.Secret, " ", "")))
		if e, _ := apierror.From(err); e == nil || e.Status != http.StatusConflict {
			t.Errorf("too many factors: %v", err)
		}
		list, err := d.factors.Of(t.Context(), d.ann.ID)
		if err != nil || len(list) != 20 {
			t.Fatalf("%d: %v", len(list), err)
		}
		bob, err := d.users.Create(t.Context(), users.New{Email: "bob@example.com"}, "admin")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{list[0].ID, "", "x"} {
			err := d.factors.Remove(t.Context(), bob.ID, id)
			if e, _ := apierror.From(err); e == nil || e.Status != http.StatusNotFound {
				t.Errorf("Bob removes %q: %v", id, err)
			}
		}
		if _, err := d.factors.Renew(t.Context(), bob.ID); err == nil {
			t.Error("a user without a factor has recovery codes")
		}
		if err := d.users.Delete(t.Context(), d.ann.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		list, err = d.factors.Of(t.Context(), d.ann.ID)
		left, err2 := d.factors.Left(t.Context(), d.ann.ID)
		if err := errors.Join(err, err2); err != nil || len(list) != 0 || left != 0 {
			t.Errorf("a deleted user still has %d factors and %d codes: %v", len(list), left, err)
		}
	})
}

// TestPasskeysNeedHTTPSHost checks that passkeys need https and a host name.
func TestPasskeysNeedHTTPSHost(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	for issuer, want := range map[string]bool{
		"https://as.example": true, "https://as.example:8443/id": true, "http://localhost:9000": true, "http://as.example": false, "https://127.0.0.1": false, "https://[::1]:9000": false,
	} {
		k.Issuer = issuer
		f, err := factors.New(k.Server, factors.Options{})
		if err != nil || f.Passkeys() != want {
			t.Errorf("%s: %v, %v", issuer, f.Passkeys(), err)
		}
	}
}
