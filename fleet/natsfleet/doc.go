// Package natsfleet runs a fleet on many machines, with NATS JetStream.
package natsfleet
