package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
)

// atOnce is how many chunks of files are under way at once. A bucket takes some ten
// milliseconds for each, whatever its size, and most files are one small chunk.
const atOnce = 8

// background runs calls beside its caller, which is one goroutine. The zero value is ready.
type background struct {
	free  chan struct{}
	group sync.WaitGroup
	mu    sync.Mutex
	err   error // the first
}

// do starts a call as soon as fewer than atOnce are under way. After an error it starts
// none.
func (b *background) do(call func() error) {
	if b.free == nil {
		b.free = make(chan struct{}, atOnce)
	}
	b.free <- struct{}{}
	if b.failed() != nil {
		<-b.free
		return
	}
	b.group.Go(func() {
		defer func() { <-b.free }()
		if err := call(); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.err = firstError(b.err, err)
		}
	})
}

// failed returns the first error so far.
func (b *background) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// wait waits for all calls, and returns the first error.
func (b *background) wait() error {
	b.group.Wait()
	return b.failed()
}

// send is put for a chunk of a file: it does not wait for the chunk. Whether it was put is
// known when behind.wait has returned.
func (p *putter) send(ctx context.Context, data []byte) (name string, err error) {
	if name = digest(data); p.s == nil || p.known[name] {
		return name, ctx.Err()
	}
	if err := firstError(ctx.Err(), p.s.step("put a chunk")); err != nil {
		return "", err
	}
	own := bytes.Clone(data) // the caller reads the next one
	p.behind.do(func() error { return p.s.Blobs.Put(ctx, name, own) })
	p.known[name] = true
	return name, nil
}

// fetcher gets chunks in order, some ahead. It belongs to one goroutine.
type fetcher struct {
	s      *Snapshots
	ctx    context.Context
	cancel context.CancelFunc
	names  []string
	asked  int
	group  sync.WaitGroup
	// got are the answers to those asked and not taken yet.
	got []chan fetched
}

type fetched struct {
	data []byte
	err  error
}

// fetch begins to get the chunks of files. Close what it returns.
func (s *Snapshots) fetch(ctx context.Context, entries []entry) *fetcher {
	f := &fetcher{s: s}
	f.ctx, f.cancel = context.WithCancel(ctx)
	for i := range entries {
		f.names = append(f.names, entries[i].Chunks...)
	}
	for range atOnce {
		f.ask()
	}
	return f
}

// ask asks for the next chunk.
func (f *fetcher) ask() {
	if f.asked == len(f.names) {
		return
	}
	name, answer := f.names[f.asked], make(chan fetched, 1)
	f.asked++
	f.got = append(f.got, answer)
	f.group.Go(func() {
		data, err := f.s.chunk(f.ctx, name)
		answer <- fetched{data, err}
	})
}

// next returns the next chunk, which must have that name.
func (f *fetcher) next(name string) ([]byte, error) {
	if at := f.asked - len(f.got); len(f.got) == 0 || f.names[at] != name {
		return nil, fmt.Errorf("claude: workspace: chunk %s: %w", name, errors.New("it was not asked for"))
	}
	a := <-f.got[0]
	f.got = f.got[1:]
	f.ask()
	return a.data, a.err
}

// Close ends the calls that are still under way, and waits for them.
func (f *fetcher) Close() {
	f.cancel()
	f.group.Wait()
}
