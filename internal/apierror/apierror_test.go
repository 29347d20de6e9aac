package apierror_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk gone")
	for want, err := range map[string]error{
		"bad_value: n is 3":    apierror.New(400, "bad_value", "n is %d", 3),
		"no code":              apierror.New(400, "", "no code"),
		"no: disk gone":        &apierror.Error{Message: "no", Cause: cause},
		"rude: no: disk gone":  &apierror.Error{Code: "rude", Message: "no", Cause: cause},
		"bad_value: with path": apierror.New(400, "bad_value", "with path").With("a.b"),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk gone")
	down := apierror.Unavailable("the database", cause)
	got, ok := apierror.From(fmt.Errorf("saving: %w", errors.Join(errors.New("x"), down)))
	if !ok || got != down || !errors.Is(down, cause) {
		t.Errorf("got %v, %v", got, ok)
	}
	if got.Status != 503 || got.Code != "overloaded" || got.RetryAfter != time.Second ||
		got.Message != "the database is not available right now, try again shortly" {
		t.Errorf("got %+v", got)
	}
	if _, ok := apierror.From(cause); ok {
		t.Error("found an API error in a plain error")
	}
	if got := apierror.New(400, "", "x").With("a[0]").Param; got != "a[0]" {
		t.Errorf("param %q", got)
	}
}
