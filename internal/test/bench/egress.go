package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/egress"
)

// The sizes of what goes through the proxy.
const (
	egressEvents = 2000
	egressRounds = 7
	egressPause  = time.Millisecond // between two events
)

// The names of the rows.
const (
	rowEventMedian = "event of a stream through the proxy, median, ns"
	rowEvent99     = "event of a stream through the proxy, 99th percentile, ns"
	rowAdded       = "what the proxy adds to the 99th percentile, ns"
)

// egressGroups measure the proxy of package egress.
func egressGroups() []group { return []group{{"egress: events", egressStream}} }

// egressStream compares a stream through the proxy with the same stream without it.
func egressStream(ctx context.Context, b *bench) ([]row, error) {
	began := time.Now()
	events := b.scale(egressEvents)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(egressPause)
		defer tick.Stop()
		for range events {
			fmt.Fprintf(w, "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%d\"}}\n\n", time.Since(began))
			_ = http.NewResponseController(w).Flush() // it fails if the client has gone
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer api.Close()
	proxy, err := egress.New(egress.Options{Upstream: api.URL, Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
		return egress.Credential{Secret: "a-key-for-the-benchmark"}, nil
	}})
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	through, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	pass, err := proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "bench"}})
	if err != nil {
		return nil, err
	}
	var medians, tails [2][]float64 // with the proxy, and without it
	var added []float64
	for range egressRounds {
		var round [2][]float64
		for i, url := range []string{through, api.URL} { // they take turns
			if round[i], err = delays(ctx, url, pass.Sentinel(), began, events); err != nil {
				return nil, err
			}
			medians[i], tails[i] = append(medians[i], percentile(round[i], 50)), append(tails[i], percentile(round[i], 99))
		}
		added = append(added, max(percentile(round[0], 99)-percentile(round[1], 99), 1))
	}
	middle := func(all []float64) *float64 { return new(percentile(all, 50)) }
	return []row{
		{Case: rowEventMedian, Ours: middle(medians[0]), Limit: middle(medians[1])},
		{Case: rowEvent99, Ours: middle(tails[0]), Limit: middle(tails[1])},
		{Case: rowAdded, Ours: middle(added)},
	}, nil
}

// delays reads a stream, and returns how long each event was under way.
func delays(ctx context.Context, url, key string, began time.Time, events int) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", strings.NewReader(`{"model":"claude-opus-4-8","max_tokens":1}`))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", key)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	all := make([]float64, 0, events)
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		now := time.Since(began)
		_, rest, found := strings.Cut(lines.Text(), `"text":"`)
		if !found {
			continue
		}
		number, _, _ := strings.Cut(rest, `"`)
		sent, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, float64(now)-float64(sent))
	}
	if len(all) != events {
		return nil, fmt.Errorf("%d of %d events arrived: %s", len(all), events, reply.Status)
	}
	return all, nil
}

// percentile returns a value below which a part of the others are.
func percentile(all []float64, part int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*part/100, len(sorted)-1)]
}

func egressGoals() []goal {
	return []goal{below("the proxy adds at most 0.2 ms to an event, at the 99th percentile", rowAdded, "ns", func(r row) *float64 { return r.Ours }, 200e3)}
}

// egressMethod describes how the proxy is measured.
const egressMethod = `
### How the proxy is measured

A server on loopback streams events a millisecond apart, each with the time at which it was written. A client reads them through the proxy and, in turns, without it; the limit is the stream without it. All three are one process, so the proxy's goroutines compete with the others for two cores. A round has 2,000 events; the median of the rounds counts.
`
