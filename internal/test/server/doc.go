// Package server starts real servers for tests: databases that are found on the
// machine or fetched, on loopback, with data that is gone afterwards.
//
// On a developer's machine a test is skipped if its server is not available;
// with CI=true that is a failure.
package server
