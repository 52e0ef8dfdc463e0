package show

import (
	"fmt"
	"math"
	"strconv"
)

// Plural counts things: "1 line", "2 lines".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Money writes an amount with as many digits as it deserves.
func Money(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case math.Abs(usd) < 0.01:
		return fmt.Sprintf("$%.5f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Span writes a time that something took, in milliseconds.
func Span(ms float64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms < 3_600_000:
		return fmt.Sprintf("%d min %02d s", int(ms)/60_000, int(ms)/1000%60)
	}
	return fmt.Sprintf("%d h %02d min", int(ms)/3_600_000, int(ms)/60_000%60)
}

// Bytes writes a size.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Tokens writes a number of tokens.
func Tokens(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}
