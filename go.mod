module github.com/claude-agent-go/claude

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/google/jsonschema-go v0.4.3
	golang.org/x/sys v0.49.0
)

require github.com/alecthomas/kong v1.16.1

require golang.org/x/text v0.43.0

require mvdan.cc/sh/v3 v3.14.1

require github.com/yuin/goldmark v1.8.7

require rsc.io/qr v0.2.0

require github.com/coder/websocket v1.8.15

require github.com/sergi/go-diff v1.4.0

require (
	github.com/coreos/go-oidc/v3 v3.21.0
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
)

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.37.0
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)
