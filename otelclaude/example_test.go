package otelclaude_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/otelclaude"
)

func ExampleInstrument() {
	// A program has an exporter of OTLP here, and sets the provider globally.
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))

	opts, err := otelclaude.Instrument(&claude.Options{
		// A CLI that needs no account. Leave it out to use the real one.
		Transport: claudetest.New(
			claudetest.UseTool("Read", map[string]string{"file_path": "/repo/go.mod"}),
			claudetest.Say("The module is called example."),
		),
		AllowedTools: []string{"Read"},
	}, &otelclaude.Config{TracerProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	result, err := claude.Ask(context.Background(), "What is the module called?", opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name)
	}
	// Unordered output:
	// The module is called example.
	// start_session
	// execute_tool Read
	// invoke_agent
}
