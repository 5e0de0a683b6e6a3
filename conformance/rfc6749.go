package conformance

import "slices"

func rfc6749() []Rule {
	return slices.Concat(rfc6749Code())
}
