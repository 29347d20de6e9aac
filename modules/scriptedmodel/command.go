package scriptedmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
)

const (
	defaultListen = "127.0.0.1:9099"
	grace         = 5 * time.Second // time for running answers after the signal to stop
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "scripted-model",
		Usage: "[--listen <address>]",
		Short: "Runs a scripted stand-in for a model API, for demos and tests",
		Long: `
Runs a server of the OpenAI chat completions API that answers from a script
instead of a language model. Its default answer says so. Any API key is accepted.

A request asks for a certain answer after the model name:

	curl http://` + defaultListen + `/v1/chat/completions -d '{
	  "model": "scripted?text=Hello+there&chunk_delay=100ms",
	  "messages": [{"role": "user", "content": "Hi"}], "stream": true
	}'

or for a failure: "scripted?status=429&retry_after=2", "scripted?fault=stall".

It listens on the loopback address by default and is not meant for the public.
`,
		CobraFunc: func(cmd *cobra.Command) {
			listen := cmd.Flags().StringP("listen", "l", defaultListen, "Address to listen on, host:port")
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error {
				ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
				defer stop()
				context.AfterFunc(ctx, stop) // a second signal ends the process at once
				return Run(ctx, *listen, cmd.OutOrStdout())
			}
		},
	})
}

// Run serves the scripted model on a TCP address such as "127.0.0.1:9099" until ctx ends. Port 0 picks a free port.
// Run writes the address to out. When ctx ends, running answers get five more seconds. Run returns an error if it
// cannot listen or serving fails.
func Run(ctx context.Context, listen string, out io.Writer) error {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", listen, err)
	}
	// Requests continue for the grace period after ctx has ended, and are then cancelled.
	requestContext, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	server := &http.Server{
		Handler:           scriptedmodel.New(scriptedmodel.Options{BodyTimeout: time.Minute}),
		BaseContext:       func(net.Listener) context.Context { return requestContext },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// The body has a separate timeout. A ReadTimeout would end long answers.
		WriteTimeout:   scriptedmodel.MaxDuration + time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	// A write error is ignored, because the server is useful even if nobody reads its output.
	_, _ = fmt.Fprintf(out, "The scripted model (no language model) listens on http://%s/v1\n", ln.Addr())

	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving the scripted model: %w", err)
	case <-ctx.Done():
	}
	shutdownContext, cancel := context.WithTimeout(requestContext, grace)
	defer cancel()
	if err := server.Shutdown(shutdownContext); err != nil {
		cancelRequests()
		if err := server.Close(); err != nil {
			return fmt.Errorf("closing the scripted model: %w", err)
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the scripted model: %w", err)
	}
	return nil
}
