// Command trace asks Claude one question and writes the spans of the answer to
// its standard error, each as a line of JSON.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/otelclaude"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, nil); err != nil {
		log.Fatal(err)
	}
}

// run prints the answer, and writes the spans. A test passes a transport; nil
// starts the CLI on this machine.
func run(ctx context.Context, w, spans io.Writer, cli claude.Transport) (err error) {
	// For a collector, use otlptracehttp.New(ctx) instead.
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(spans))
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	defer func() { // Spans are sent in batches. Send the last one, even after Ctrl-C.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, provider.Shutdown(ctx))
	}()

	opts, err := otelclaude.Instrument(&claude.Options{
		AllowedTools: []string{"Read"},
		Transport:    cli,
	}, &otelclaude.Config{TracerProvider: provider})
	if err != nil {
		return err
	}

	// The session and its turn become children of the span in the context.
	ctx, span := provider.Tracer("trace").Start(ctx, "question")
	defer span.End()
	result, err := claude.Ask(ctx, "What is the module in go.mod called?", opts)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
		return err
	}
	fmt.Fprintln(w, result.Text)
	return nil
}
