// Package receipts signs statements about stored readings, so that a sender can prove a delivery.
//
//	Keyring ──first use──▶ key, from a file or the registry
//	Receipt ──Sign──▶ text ──Verify──▶ Receipt
//
// A receipt is a JSON Web Signature in compact form (RFC 7515) with the algorithm EdDSA and a key on
// Ed25519 (RFC 8037). Any library for JWS can verify it with the public key, which is a JSON Web Key.
package receipts
