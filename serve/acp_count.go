package serve

import "sync"

// editorCount counts the editors that are connected, so that Close can wait for them.
type editorCount struct {
	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup
}

// enter counts an editor. It reports false when the server closes.
func (c *editorCount) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.work.Add(1)
	return true
}

func (c *editorCount) leave() { c.work.Done() }

// close lets no more editors in and waits until all have left.
func (c *editorCount) close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.work.Wait()
}
