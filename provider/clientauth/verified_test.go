package clientauth

import (
	"crypto/x509"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/mtls"
	"mandate/storage"
	"mandate/testkit"
)

// What was verified is remembered for one application and one chain, until it expires.
func TestVerifiedChains(t *testing.T) {
	leaf, one, other := &x509.Certificate{Raw: []byte("leaf")}, &x509.Certificate{Raw: []byte("one")},
		&x509.Certificate{Raw: []byte("other")}
	a := storage.Application{ID: "a"}
	synctest.Test(t, func(t *testing.T) {
		v := &verified{}
		name := chainName(a, &mtls.Certificate{Certificate: leaf, Chain: []*x509.Certificate{one}})
		if v.has(name) {
			t.Error("nothing was verified")
		}
		v.add(name, time.Now().Add(time.Hour))
		for what, test := range map[string]struct {
			of   storage.Application
			leaf *x509.Certificate
			rest []*x509.Certificate
			want bool
		}{
			"the same":              {a, leaf, []*x509.Certificate{one}, true},
			"another application":   {storage.Application{ID: "b"}, leaf, []*x509.Certificate{one}, false},
			"another leaf":          {a, other, []*x509.Certificate{one}, false},
			"another chain":         {a, leaf, []*x509.Certificate{other}, false},
			"a longer chain":        {a, leaf, []*x509.Certificate{one, other}, false},
			"no chain":              {a, leaf, nil, false},
			"the chain as the leaf": {a, one, []*x509.Certificate{leaf}, false},
		} {
			if got := v.has(chainName(test.of, &mtls.Certificate{Certificate: test.leaf, Chain: test.rest})); got != test.want {
				t.Errorf("%s: %v", what, got)
			}
		}
		time.Sleep(time.Hour + 1)
		if v.has(name) {
			t.Error("it has expired")
		}
		v.drop()
		if len(v.kept) != 0 {
			t.Error("what has expired is kept")
		}
		for i := range uint64(maxVerified + 10) {
			v.add([32]byte(binary.BigEndian.AppendUint64(make([]byte, 24), i)), time.Now().Add(time.Hour))
		}
		if len(v.kept) != maxVerified {
			t.Errorf("%d are kept", len(v.kept))
		}
	})
}

func TestVerifiedAtOnce(t *testing.T) {
	var v verified
	name := [32]byte{1}
	testkit.AtOnce(func() { v.add(name, time.Now().Add(time.Hour)) }, func() { v.has(name) }, v.drop)
	if !v.has(name) {
		t.Error("the chain is not remembered")
	}
}
