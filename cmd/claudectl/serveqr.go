package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"rsc.io/qr"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// qrMargin is how many light modules must surround a QR code, so that cameras find it.
const qrMargin = 4

// drawQR draws a link as a QR code, two modules in each character. With colours it is
// black on white wherever it is shown. Without, the light modules are drawn, which is
// right on a dark background.
func drawQR(link string, colour bool) (string, error) {
	code, err := qr.Encode(link, qr.L) // the smallest: a screen has no dirt on it
	if err != nil {
		return "", fmt.Errorf("the link does not fit into a QR code: %w", err)
	}
	var out strings.Builder
	for y := -qrMargin; y < code.Size+qrMargin; y += 2 {
		if colour {
			out.WriteString("\x1b[38;5;16;48;5;231m")
		}
		for x := -qrMargin; x < code.Size+qrMargin; x++ {
			top, bottom := code.Black(x, y) == colour, code.Black(x, y+1) == colour
			switch {
			case top && bottom:
				out.WriteRune('█')
			case top:
				out.WriteRune('▀')
			case bottom:
				out.WriteRune('▄')
			default:
				out.WriteByte(' ')
			}
		}
		if colour {
			out.WriteString("\x1b[0m")
		}
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// printQR draws a link for the camera of a phone.
func (c *console) printQR(link string) error {
	code, err := drawQR(link, terminal.Coloured(c.env, c.stdout.stream))
	if err == nil {
		c.printf("\n%s", code)
	}
	return err
}

// checkQR refuses to draw a link that a phone could not open.
func (c *console) checkQR(base string) error {
	if c.json {
		return &failure{exitUsage, errors.New("--qr draws a picture for people, --json prints for programs: leave one of them out")}
	}
	if onlyHere(base) {
		return &failure{exitUsage, fmt.Errorf("--qr: a phone cannot reach %s, which is this machine alone: start the server with --url or --host and a name or address that others can reach", base)}
	}
	return nil
}

// onlyHere reports whether an address of a server means the machine that it is used on.
func onlyHere(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return true
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
