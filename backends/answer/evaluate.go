package answer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/eval"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/backends/answer/sample"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Evaluate asks the questions one after the other and grades the answers. With a nil model answers are extracted from
// the passages by rules. Evaluate calls done, which may be nil, after each question.
func (s *Server) Evaluate(
	ctx context.Context, questions []eval.Question, model models.Model, done func(),
) []eval.Result {
	return eval.Run(ctx, eval.Setup{
		Search: retrieve.New(s.Corpus, s.retrieval),
		Asker: func(search pipeline.Searcher) eval.Asker {
			return pipeline.New(search, s.Corpus.Issuers, model, s.Corpus.Now,
				pipeline.Options{
					CompareMin: s.compareMin, Unhurried: true, Deadline: evaluationDeadline, Outside: s.retrieval.Web != nil,
				})
		},
		Known:    func(ctx context.Context, url string) bool { _, err := s.Corpus.Document(ctx, url); return err == nil },
		Progress: done,
	}, questions)
}

// evaluationDeadline is how long an answer may take in an evaluation.
const evaluationDeadline = 10 * time.Minute

// sampleDay is the day on which the shipped questions are asked.
var sampleDay = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// EvaluateSample evaluates the shipped questions on the shipped corpus, which it writes to a temporary folder. model,
// announce and done have the same meaning as in EvaluateOn.
func EvaluateSample(
	ctx context.Context, model models.Model, announce func(questions int), done func(),
) (results []eval.Result, err error) {
	dir, err := os.MkdirTemp("", "tollgate-answer-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := sample.Write(dir); err != nil {
		return nil, err
	}
	questions, err := eval.Read(bytes.NewReader(sample.Questions))
	if err != nil {
		return nil, err
	}
	return EvaluateOn(ctx, filepath.Join(dir, sample.CorpusFolder), questions, model, announce, done)
}

// EvaluateOn evaluates the questions in a temporary database. documents is the path of a file or a folder. With a nil
// model, answers are extracted by rules. EvaluateOn calls announce with the number of questions as soon as the
// documents are ingested, and done, unless it is nil, after each question. A document that cannot be ingested is an
// error.
func EvaluateOn(
	ctx context.Context, documents string, questions []eval.Question, model models.Model,
	announce func(questions int), done func(),
) (results []eval.Result, err error) {
	dir, err := os.MkdirTemp("", "tollgate-answer-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(dir, "answer.db")}, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(Schema()); err != nil {
		return nil, err
	}
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		return nil, err
	}
	return evaluateOn(ctx, db, documents, questions, model, announce, done)
}

// evaluateOn ingests the documents into db and evaluates the questions. See EvaluateOn.
func evaluateOn(ctx context.Context, db *store.DB, documents string, questions []eval.Question, model models.Model,
	announce func(questions int), done func(),
) ([]eval.Result, error) {
	s := New(Options{DB: db, Logger: zap.NewNop, Now: func() time.Time { return sampleDay }})
	defer s.Close()
	// One worker, so that the order is the same each time.
	report, err := s.Corpus.Ingest(ctx, documents, corpus.IngestOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	if report.Refused > 0 {
		return nil, fmt.Errorf("%d documents were not ingested: %v", report.Refused, report.Problems)
	}
	announce(len(questions))
	return s.Evaluate(ctx, questions, model, done), ctx.Err()
}
