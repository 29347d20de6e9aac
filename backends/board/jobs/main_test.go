package jobs_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
