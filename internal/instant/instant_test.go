package instant

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestMoment checks that a Moment is written in its layout in any year.
func TestMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	times := append(make([]int64, 0, 1010), 0, 1, 999, 1000, -1, 1_700_000_000_123_456, 253_402_300_799_999_999, 253_402_300_800_000_000, -62_135_596_800_000_000, -62_167_219_200_000_001)
	for range 1000 {
		times = append(times, random.Int64N(300_000_000_000_000_000)-50_000_000_000_000_000)
	}
	for _, micros := range times {
		if got, want := Moment(micros).String(), time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%d is %s, want %s", micros, got, want)
		}
	}
}

func BenchmarkMoment(b *testing.B) {
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n += 1e9 {
		_ = Moment(n).String()
	}
}
