//go:build !race

package serve_test

// raceDetector makes tests smaller.
const raceDetector = false
