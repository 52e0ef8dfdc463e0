// Package natstest runs NATS servers with JetStream inside a test: one, or a
// cluster of three. They listen on loopback only, keep their data in a directory
// of the test, and end with it.
//
//	c := natstest.Start(t, natstest.Options{Nodes: 3})
//	f, err := natsfleet.Connect(ctx, natsfleet.Options{URL: c.URL(), Project: "test"})
//	…
//	c.Stop(0)  // a node fails
//	c.Start(0) // and comes back with its data
//
// A cluster that has started is ready: it has a leader, and takes streams. No test
// has to sleep.
package natstest
