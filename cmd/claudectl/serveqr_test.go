package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rsc.io/qr"
)

// wantQR checks that a drawing is the QR code of a link, with its margin.
func wantQR(t *testing.T, drawn, link string, colour bool) {
	t.Helper()
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	size := code.Size + 2*qrMargin
	if len(lines) != (size+1)/2 {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), (size+1)/2, drawn)
	}
	for i, line := range lines {
		if colour {
			line = regexp.MustCompile(`^\x1b\[38;5;16;48;5;231m(.*)\x1b\[0m$`).ReplaceAllString(line, "$1")
		}
		modules := []rune(line)
		if len(modules) != size {
			t.Fatalf("line %d has %d modules, want %d: %q", i, len(modules), size, line)
		}
		for x, m := range modules {
			for half, drawnHere := range []bool{strings.ContainsRune("█▀", m), strings.ContainsRune("█▄", m)} {
				dark := code.Black(x-qrMargin, 2*i+half-qrMargin)
				if drawnHere != (dark == colour) || !strings.ContainsRune("█▀▄ ", m) {
					t.Fatalf("column %d of line %d is %q; dark: %v\n%s", x, i, m, dark, drawn)
				}
			}
		}
	}
}

// A QR code is black on white where there are colours, and fit for a dark background
// where there are none.
func TestDrawQR(t *testing.T) {
	const link = "https://agents.example.com/login#t=abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	for _, colour := range []bool{true, false} {
		drawn, err := drawQR(link, colour)
		if err != nil {
			t.Fatal(err)
		}
		wantQR(t, drawn, link, colour)
	}
	if _, err := drawQR(strings.Repeat("x", 10_000), true); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("a link that is too long: %v", err)
	}
}

// Only addresses that mean something on a phone are drawn.
func TestOnlyHere(t *testing.T) {
	for base, want := range map[string]bool{
		"http://127.0.0.1:4711": true, "http://127.8.9.1": true, "http://[::1]:80": true, "http://[::ffff:127.0.0.1]": true, "http://localhost:1": true,
		"http://LOCALHOST.": true, "http://a.localhost": true, "https://0.0.0.0:443": true, "https://[::]:443": true, "": true, "://": true,
		"https://agents.example.com": false, "https://192.168.1.7:8443": false, "https://[fd00::1]": false, "https://mylocalhost": false,
	} {
		if got := onlyHere(base); got != want {
			t.Errorf("%s: %v, want %v", base, got, want)
		}
	}
}

// "serve --qr" and "serve login --qr" draw the link that they print, if a phone could
// open it. Otherwise they say what to do, and no login is made.
func TestServeQR(t *testing.T) {
	dir := t.TempDir()
	presets, db := filepath.Join(dir, "presets.json"), filepath.Join(dir, "store")
	if err := os.WriteFile(presets, []byte(`{"presets":[{"name":"a","roots":["`+filepath.ToSlash(dir)+`"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a server that should not have started
		defer cancel()
		code = run(ctx, args, strings.NewReader(""), &out, &errs, append(os.Environ(), "USER=bob"))
		return out.String(), errs.String(), code
	}
	refused := func(why string, args ...string) {
		t.Helper()
		if out, errs, code := said(args...); code != int(exitUsage) || out != "" || !strings.Contains(errs, why) {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, errs)
		}
	}
	refused("a phone cannot reach http://127.0.0.1:", "serve", "--qr", "--store", db, "--presets", presets)

	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"serve", "--qr", "--url", "https://agents.example.com/", "--store", db, "--presets", presets}, strings.NewReader(""), writer, io.Discard, append(os.Environ(), "USER=ada"))
		_ = writer.Close()
		ended <- code
	}()
	var link, drawn string
	lines := bufio.NewScanner(reader)
	for height := 1; height > 0 && lines.Scan(); {
		text := lines.Text()
		switch at, isLink := strings.CutPrefix(text, "  https://"); {
		case isLink:
			link = "https://" + at
			code, err := qr.Encode(link, qr.L)
			if err != nil {
				t.Fatal(err)
			}
			height = (code.Size + 2*qrMargin + 1) / 2
		case link != "" && text != "":
			drawn += text + "\n"
			height--
		}
	}
	cancel()
	_, _ = io.Copy(io.Discard, reader)
	if code := <-ended; code != 0 || !strings.HasPrefix(link, "https://agents.example.com/login#t=") {
		t.Fatalf("exit code %d, %q", code, link)
	}
	wantQR(t, drawn, link, false)
	refused("leave one of them out", "--json", "serve", "login", "--qr", "--store", db)
	out, errs, code := said("serve", "login", "--qr", "--store", db)
	again, picture, _ := strings.Cut(out, "\n\n")
	if code != 0 || again == link || !strings.HasPrefix(again, "https://agents.example.com/login#t=") {
		t.Fatalf("exit code %d, %q, %s", code, out, errs)
	}
	wantQR(t, picture, again, false)
}
