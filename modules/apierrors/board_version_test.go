package apierrors

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestBoardVersion checks the error of a write that was based on another version.
func TestBoardVersion(t *testing.T) {
	t.Parallel()
	if got := boardCode(apierror.New(412, "precondition_failed", "changed")); got != "precondition_failed" {
		t.Errorf("the code is %s", got)
	}
}
