package spending

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
