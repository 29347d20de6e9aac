package people_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
)

// The rule itself is tested by peopletest, in every service that uses it.

func TestIdentifies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		issuer, subject string
		want            bool
	}{
		{"https://a.example", "1", true},
		{"https://a.example", "ü 'x", true},
		{"https://a.example", strings.Repeat("a", 255), true},
		{"https://a.example", strings.Repeat("a", 256), false},
		{"https://a.example", "", false},
		{"", "1", false},
		{"https://a.example", "a\x00", false},
		{"https://a.example", "a\x7f", false},
		{"https://a.example", "a\uFFFD", false},
		{"https://a.example", "a\xff", false},
	} {
		if got := people.Identifies(test.issuer, test.subject); got != test.want {
			t.Errorf("Identifies(%q, %q) is %t, want %t", test.issuer, test.subject, got, test.want)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	conflict := apierror.New(409, "conflict", "taken")
	for _, test := range []struct {
		errs  []error // the error of each call
		calls int
		want  error
	}{
		{[]error{nil}, 1, nil},
		{[]error{errors.ErrUnsupported}, 1, errors.ErrUnsupported},
		{[]error{conflict, nil}, 2, nil},
		{[]error{conflict, conflict}, 2, conflict},
	} {
		calls := 0
		err := people.Retry(func() error { calls++; return test.errs[calls-1] })
		if calls != test.calls || !errors.Is(err, test.want) {
			t.Errorf("%v: %d calls with the error %v, want %d with %v", test.errs, calls, err, test.calls, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := people.Names(&oidclogin.Person{Names: []string{"Ann B", "ann@example.com"}}, "a.b@example.com", "user-")
	if len(names) != 6 || names[0] != "Ann B" || names[1] != "ann" || names[2] != "a.b" || !strings.HasPrefix(names[5], "user-") {
		t.Errorf("%q", names)
	}
}
