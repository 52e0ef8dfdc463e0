// Package server starts real servers for tests: databases that are found on the
// machine or fetched, on loopback, with data that is gone afterwards.
//
// Tests that need one are of the long level: see package long. A server that cannot
// be had fails them.
package server
