//go:build !race

package claudetest_test

const stride = 1
