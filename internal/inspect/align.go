package inspect

import "slices"

// together is the place of something in two lists, -1 where it is missing.
type together struct{ a, b int }

// maxAlign bounds the work of an alignment. Longer lists are put side by side as they are.
const maxAlign = 4 << 20

// align puts two lists side by side, so that as many as possible are beside one that is the
// same. Where both have something else in between, it is aligned by the next, looser sense
// of sameness.
func align(n, m int, same ...func(a, b int) bool) []together {
	return alignIn(nil, together{0, 0}, together{n, m}, same)
}

func alignIn(out []together, from, to together, same []func(a, b int) bool) []together {
	if len(same) == 0 || (to.a-from.a)*(to.b-from.b) > maxAlign {
		return apart(out, from, to)
	}
	for _, p := range longest(from, to, same[0]) {
		out = append(alignIn(out, from, p, same[1:]), p)
		from = together{p.a + 1, p.b + 1}
	}
	return alignIn(out, from, to, same[1:])
}

// apart lists what is on one side only.
func apart(out []together, from, to together) []together {
	for ; from.a < to.a; from.a++ {
		out = append(out, together{from.a, -1})
	}
	for ; from.b < to.b; from.b++ {
		out = append(out, together{-1, from.b})
	}
	return out
}

// longest returns a longest common subsequence.
func longest(from, to together, same func(a, b int) bool) []together {
	rows, columns := to.a-from.a, to.b-from.b
	length := make([][]int32, rows+1) // of that of what remains
	for i := range length {
		length[i] = make([]int32, columns+1)
	}
	for i := range slices.Backward(length[:rows]) {
		for j := columns - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); same(from.a+i, from.b+j) {
				length[i][j] = max(length[i][j], length[i+1][j+1]+1)
			}
		}
	}
	var out []together
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case same(from.a+i, from.b+j) && length[i][j] == length[i+1][j+1]+1:
			out = append(out, together{from.a + i, from.b + j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
