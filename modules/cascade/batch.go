package cascade

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/passthrough"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Limits of the job that charges batches whose clients no longer ask about them.
const (
	chargeEvery = time.Minute
	chargeRows  = 20
	// readTimeout limits the time to read the file of a batch from its provider.
	readTimeout = 10 * time.Minute
	// giveUpAge is the age at which a batch of unknown cost is marked as charged without a cost. Providers do not keep
	// results that long.
	giveUpAge = 40 * 24 * time.Hour
)

// nameRules returns the rules by which model names in a batch's requests are checked and replaced for a provider.
func (p *passthroughRequest) nameRules(provider string) *passthrough.Names {
	return &passthrough.Names{
		Catalog: p.catalog, Account: p.request.Account, TeamID: p.request.TeamID,
		Provider: provider, Forbids: p.request.Forbids,
	}
}

// renameModels replaces each model name in the body of a new batch of messages with the provider's name.
func (p *passthroughRequest) renameModels(ctx context.Context, body []byte) error {
	f := p.request.Forward
	grow := func(size int64) error { return p.grow(ctx, size) }
	body, err := passthrough.Rename(body, p.nameRules(f.Pinned.Provider.Code), grow)
	f.Body = func(string) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	return err
}

// grow takes memory for the batch from the memory budget.
func (p *passthroughRequest) grow(ctx context.Context, size int64) error {
	if err := p.share.Grow(ctx, size); err != nil {
		return apierror.Unavailable("memory for this batch", err)
	}
	return nil
}

// rewriteResultsURL replaces the address of the results in a provider's description of a batch of messages by an
// address of this gateway. Other descriptions are returned unchanged.
func (p *passthroughRequest) rewriteResultsURL(answer []byte) []byte {
	const member = "results_url"
	if p.endpoint.Object != passthrough.KindMessageBatch || gjson.GetBytes(answer, member).Type != gjson.String {
		return answer
	}
	address := p.ownAddress + "/v1/messages/batches/" + gjson.GetBytes(answer, "id").Str + "/results"
	if edited, err := sjson.SetBytes(answer, member, address); err == nil {
		return edited
	}
	return answer
}

// beforeSend must be called before a request is sent. For a new batch, it reads the input file and checks the models.
// Before the deletion of an object that contains a batch's cost, it charges the batch. Errors are *apierror.Error.
func (p *passthroughRequest) beforeSend(ctx context.Context) error {
	switch {
	case p.input == nil:
		return nil
	case p.endpoint.MakesBatch():
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		input := passthrough.NewInput(p.nameRules(p.input.Provider), func(size int64) error { return p.grow(ctx, size) })
		return p.readFile(ctx, passthrough.InputFile(p.input.ID), p.input, p.input.ID, input)
	case p.input.IsBatch():
		return p.chargeBeforeDelete(ctx, p.input)
	case p.input.Batch != "": // a file with the results or the errors of a batch
		batch, err := p.gw.Resources.Find(ctx, p.request.User, p.request.TeamID, passthrough.KindBatch, p.input.Batch)
		if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
			return nil // the batch was deleted, and charged before that
		}
		if err != nil {
			return err
		}
		return p.chargeBeforeDelete(ctx, &batch)
	}
	return nil
}

// chargeBeforeDelete charges a batch before the client deletes the batch or one of its files. It returns an error with
// status 409 if the batch has ended but could not be charged.
func (p *passthroughRequest) chargeBeforeDelete(ctx context.Context, batch *passthrough.Resource) error {
	if batch.Charged {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	descriptionRequest := *p
	descriptionRequest.endpoint, descriptionRequest.waitsForResults = passthrough.Description(batch), true
	description := descriptionRequest.fetch(ctx, batch) // charges the batch if it has ended
	if description != nil && !passthrough.Done(description) {
		return nil // the batch still runs: the provider refuses to delete it, or the client deletes a file without results
	}
	current, err := p.gw.Resources.Find(ctx, batch.UserID, batch.TeamID, batch.Kind, batch.ID)
	if err == nil && !current.Charged {
		return apierror.New(http.StatusConflict, "batch_not_charged",
			"the cost of the batch %s could not be read yet: try again in a minute", batch.ID)
	}
	return err
}

// readFile streams a file from a provider into dst, which adds up the costs in the file or checks the file. o is an
// object that was made with the same provider key as the file, and id is the id of the file.
func (p *passthroughRequest) readFile(
	ctx context.Context, endpoint *passthrough.Endpoint, o *passthrough.Resource, id string, dst io.WriteCloser,
) error {
	fileRequest := *p
	fileRequest.endpoint = endpoint
	c := fileRequest.candidate(o.Provider, o.ProviderKey)
	if c == nil {
		return apierror.New(http.StatusNotFound, "not_found", "the provider key of %s can no longer be used by its owner", id)
	}
	request := *p.request
	request.Lease = nil // the lease belongs to the client's request
	request.Forward = &cascade.Forward{
		Surface: endpoint.Surface, Method: endpoint.Method, Endpoint: endpoint.Name, Path: endpoint.PathFor(id), Pinned: c,
	}
	w := &bodyWriter{header: make(http.Header), into: dst}
	_, err := p.engine(p.gw, nil).Answer(ctx, w, &request)
	switch {
	case w.writeErr != nil:
		return w.writeErr
	case err != nil:
		return err
	case request.Forward.Broken:
		return errors.New("the provider sent only a part of the file")
	}
	return dst.Close()
}

// bodyWriter is an http.ResponseWriter that passes the body on to a writer.
type bodyWriter struct {
	header   http.Header
	into     io.Writer
	writeErr error
}

func (w *bodyWriter) Header() http.Header { return w.header }

func (w *bodyWriter) WriteHeader(int) {}

func (w *bodyWriter) Write(text []byte) (int, error) {
	n, err := w.into.Write(text)
	if err != nil {
		w.writeErr = err
	}
	return n, err
}

// charge charges a batch that has ended. If the description does not contain the cost, the results have to be read.
// That happens in the background, unless p.waitsForResults is set. If the results cannot be read now, charge returns
// nil without having charged the batch, and chargeBatches tries again.
func (p *passthroughRequest) charge(ctx context.Context, o *passthrough.Resource, description []byte) error {
	record, exact := passthrough.DescribedUsage(p.catalog, o, description, time.Now())
	endpoint, id := passthrough.Content(o, description) // of the results; endpoint is nil if the batch has none
	switch {
	case exact, endpoint == nil:
		return p.recordCharge(ctx, o, record)
	case !p.waitsForResults:
		p.chargeLater(ctx, o)
		return nil
	}
	results := passthrough.NewResults(p.catalog, o, time.Now(), func(size int64) error { return p.grow(ctx, size) })
	err := p.readFile(ctx, endpoint, o, id, results)
	if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
		p.logger.Warn("the provider no longer has the results of a batch, so its cost is unknown", zap.String("batch", o.ID),
			zap.String("user", o.UserID))
		return p.recordCharge(ctx, o, record)
	}
	if err != nil {
		if ctx.Err() == nil {
			p.logger.Warn("the results of a batch could not be read, the gateway will try again", zap.String("batch", o.ID),
				zap.String("user", o.UserID), zap.Error(err))
		}
		return nil
	}
	return p.recordCharge(ctx, o, results.Records()...)
}

// recordCharge writes the cost of a batch into the usage log, unless another node or request has already done so.
func (p *passthroughRequest) recordCharge(
	ctx context.Context, o *passthrough.Resource, records ...spending.Record,
) error {
	first, err := p.gw.Resources.MarkCharged(ctx, o)
	if err != nil || !first {
		return err
	}
	for i := range records {
		p.gw.Usage.Add(records[i])
	}
	return nil
}

// chargeLater reads the results of a batch and charges it in the background. If another batch is being read,
// chargeLater does nothing: chargeBatches tries again within minutes.
func (p *passthroughRequest) chargeLater(ctx context.Context, o *passthrough.Resource) {
	select {
	case p.readingResults <- struct{}{}:
	default:
		return
	}
	release := p.app.Acquire()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	batch, job := *o, p.chargingJob(o, p.request.Account)
	go func() {
		defer release()
		defer func() { <-p.readingResults }()
		defer cancel()
		defer job.share.Free()
		job.fetch(ctx, &batch)
	}()
}

// chargingJob returns a request that charges the batch o on behalf of its owner, without a client.
func (p *passthroughRequest) chargingJob(o *passthrough.Resource, account *keychain.Account) *passthroughRequest {
	share := p.app.MemoryBudget().Share(o.UserID)
	return &passthroughRequest{
		Handler: p.Handler, endpoint: passthrough.Description(o), gw: p.gw, catalog: p.app.Catalog(), waitsForResults: true,
		share: &share,
		request: &cascade.Request{
			ID: wire.NewID("req_"), User: o.UserID, TeamID: o.TeamID, KeyID: o.KeyID, Account: account,
		},
	}
}

// chargeBatches charges batches that have ended, at intervals until ctx ends.
func (h *Handler) chargeBatches(ctx context.Context) {
	ticker := time.NewTicker(chargeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		h.chargeSome(ctx, time.Now().Add(-chargeEvery))
	}
}

// chargeSome charges batches that have ended. It requests the descriptions of those uncharged batches that no client
// has asked for since the cutoff.
func (h *Handler) chargeSome(ctx context.Context, cutoff time.Time) {
	defer h.app.Acquire()()
	gw, err := h.app.Gateway()
	if err != nil {
		return
	}
	objects, err := gw.Resources.Uncharged(ctx, cutoff, chargeRows)
	if err != nil {
		return // the database reports the error itself
	}
	base := &passthroughRequest{Handler: h, gw: gw}
	for i := range objects {
		o := &objects[i]
		account, err := gw.Keychain.Account(ctx, o.UserID)
		if err != nil {
			return
		}
		if base.chargingJob(o, account).chargeOne(ctx, o) != nil {
			return
		}
	}
}

// chargeOne charges a batch if it has ended. If the batch is older than giveUpAge, it is marked as charged without a
// cost.
func (p *passthroughRequest) chargeOne(ctx context.Context, o *passthrough.Resource) error {
	defer p.share.Free()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p.fetch(ctx, o) // charges the batch, see recordObjects
	if time.Since(o.CreatedAt) < giveUpAge {
		return nil
	}
	// This has no effect if fetch has charged the batch.
	return p.recordCharge(ctx, o, passthrough.UnknownUsage(o, time.Now()))
}
