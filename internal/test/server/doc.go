// Package server starts real servers for tests: databases that are found on the
// machine or fetched, on loopback, with data that is gone afterwards.
//
// On a developer's machine a test skips when its server cannot be had; with
// CI=true that is a failure.
package server
