package main

import (
	"context"
	"fmt"
	"os"
)

// The sizes of the measured sessions: one of the list is as large as one of the
// real CLI with a single turn.
const (
	listedSessions = 1000
	listedBytes    = 145_000
	readBytes      = 50_000_000
)

// historyGroups measure sessions on disk.
func historyGroups() []group {
	return []group{
		{"history: list", func(ctx context.Context, b *bench) ([]row, error) {
			d := &diskCase{name: fmt.Sprintf("list %d sessions of %d KB", listedSessions, listedBytes/1000), op: "list", fill: func(dir string, n int) error {
				for i := range n {
					if err := writeSession(dir, storedID(i), listedBytes); err != nil {
						return err
					}
				}
				return nil
			}}
			return d.measure(ctx, b, b.scale(listedSessions))
		}},
		{"history: read", func(ctx context.Context, b *bench) ([]row, error) {
			d := &diskCase{name: fmt.Sprintf("read a transcript of %d MB", readBytes/1_000_000), op: "read", fill: func(dir string, n int) error {
				return writeSession(dir, storedID(0), n)
			}}
			return d.measure(ctx, b, b.scale(readBytes))
		}},
	}
}

// diskCase is an operation on files, of which there may be more or less.
type diskCase struct {
	name, op string
	fill     func(dir string, n int) error
}

// measure measures the time and the memory for n, and the memory for a tenth of
// n. Every round is a process of its own, so that its memory is that of what it
// does, and the clients take turns.
func (d *diskCase) measure(ctx context.Context, b *bench, n int) ([]row, error) {
	clients, err := diskClients(ctx, b.root)
	if err != nil {
		return nil, err
	}
	times, memory, err := d.rounds(ctx, clients, b.rounds, n)
	if err != nil {
		return nil, err
	}
	_, less, err := d.rounds(ctx, clients, 1, max(n/10, 1))
	if err != nil {
		return nil, err
	}
	rows := make([]row, 0, 3)
	for _, q := range []struct {
		name   string
		values map[string][]float64
	}{{", ns", times}, {", peak memory, bytes", memory}, {" but a tenth of it, peak memory, bytes", less}} {
		r := row{Case: d.name + q.name}
		for name, values := range q.values {
			if values[0] == 0 {
				continue // not measured on this system
			}
			switch v := medianOf(values); name {
			case nameOurs:
				r.Ours = v
			case nameTypeScript:
				r.TS = v
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// rounds runs every client in turn on n, after one round that fills the system's
// cache, and returns times and memory by client.
func (d *diskCase) rounds(ctx context.Context, clients []diskClient, rounds, n int) (times, memory map[string][]float64, err error) {
	dir, err := os.MkdirTemp("", "bench-history-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	if err := d.fill(dir, n); err != nil {
		return nil, nil, err
	}
	times, memory = make(map[string][]float64), make(map[string][]float64)
	count := 0
	for i := range rounds + 1 {
		for _, c := range clients {
			got, err := c.run(ctx, d.op, dir)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if count == 0 {
				count = got.Count
			}
			if got.Count != count || count == 0 {
				return nil, nil, fmt.Errorf("%s found %d, another %d", c.name, got.Count, count)
			}
			if i > 0 {
				times[c.name] = append(times[c.name], float64(got.NS))
				memory[c.name] = append(memory[c.name], got.Bytes)
			}
		}
	}
	return times, memory, nil
}
