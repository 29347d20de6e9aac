package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

type noPages struct{}

func (noPages) Search(context.Context, string, int) ([]retrieve.WebPage, error) {
	return nil, errors.New("down")
}

// TestMakeshift checks that an outcome is makeshift if a model or a provider has failed, has judged low, or
// was too slow, and that other outcomes are not.
func TestMakeshift(t *testing.T) {
	t.Parallel()
	const (
		known   = "What was Wexlermere's net sales in 2019?"
		unknown = "How many employees does Wexlermere have?"
	)
	failing := func(step string) models.Model {
		return modelFunc(func(ctx context.Context, r models.Request) (models.Response, error) {
			if r.Name == step {
				return models.Response{}, models.ErrUnavailable
			}
			return scripted("Net sales of Wexlermere in 2019 were $1,452.4 million [p1].").Complete(ctx, r)
		})
	}
	slow := modelFunc(func(ctx context.Context, r models.Request) (models.Response, error) {
		if r.Name == "judge" {
			<-ctx.Done()
			return models.Response{}, ctx.Err()
		}
		return models.Response{Text: "Net sales of Wexlermere in 2019 were $1,452.4 million [p1]."}, nil
	})
	low := modelFunc(func(ctx context.Context, r models.Request) (models.Response, error) {
		if r.Name == "judge" {
			return models.Response{Text: `{"grounded":0.2,"responsive":0.9}`}, nil
		}
		return failing("").Complete(ctx, r)
	})
	for name, c := range map[string]struct {
		model     models.Model
		web       retrieve.Web
		asked     string
		options   pipeline.Options
		reason    string
		makeshift bool
	}{
		"nobody failed":   {nil, pages{}, unknown, pipeline.Options{}, pipeline.FailedToAnswer, false},
		"by rules":        {nil, nil, known, pipeline.Options{}, pipeline.Answered, false},
		"the model works": {failing(""), nil, known, pipeline.Options{}, pipeline.Answered, false},
		"no judge":        {failing("judge"), nil, known, pipeline.Options{}, pipeline.FailedToAnswer, true},
		"a low judge":     {low, nil, known, pipeline.Options{}, pipeline.FailedToAnswer, true},
		"no pages":        {nil, noPages{}, unknown, pipeline.Options{}, pipeline.FailedToAnswer, true},
		"no pages needed": {nil, noPages{}, known, pipeline.Options{}, pipeline.Answered, false},
		"extracted":       {failing("draft"), nil, known, pipeline.Options{ExtractWhenDown: true}, pipeline.Answered, true},
		"too late":        {slow, nil, known, pipeline.Options{Deadline: 2 * time.Second}, pipeline.FailedToAnswer, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := corpusOf(t)
			p := pipeline.New(retrieve.New(documents, retrieve.Options{Web: c.web}), documents.Issuers, c.model, time.Now, c.options)
			if o := ask(t, p, c.asked); o.Reason != c.reason || o.Makeshift != c.makeshift {
				t.Errorf("%+v", o)
			}
		})
	}
}
