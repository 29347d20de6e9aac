package pipeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// failing finds passages so often, and then makes the program fail.
type failing struct {
	pipeline.Searcher
	left atomic.Int64
}

func (f *failing) Search(ctx context.Context, q retrieve.Query) (retrieve.Result, error) {
	if f.left.Add(-1) < 0 {
		panic("a fault")
	}
	return f.Searcher.Search(ctx, q)
}

// TestFault checks that a fault in a question, or in a part of one, does not affect others.
func TestFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		works int64
	}{
		"of the whole": {"What was Wexlermere's net sales in 2019?", 0},
		"of a part":    {"What was the return on assets of Wexlermere in 2012?", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := corpusOf(t)
			f := &failing{Searcher: retrieve.New(documents, retrieve.Options{})}
			f.left.Store(c.works)
			p := pipeline.New(f, documents.Issuers, nil, time.Now, pipeline.Options{})
			o, trace := p.Ask(t.Context(), pipeline.Request{Text: c.text}, nil)
			if o.Reason != pipeline.InternalError || len(trace.Problems) == 0 {
				t.Errorf("%+v %+v", o, trace)
			}
			f.left.Store(100)
			if o := ask(t, p, "What was Wexlermere's net sales in 2019?"); o.Reason != pipeline.Answered {
				t.Errorf("%+v", o)
			}
		})
	}
}
