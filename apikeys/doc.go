// Package apikeys keeps API keys in the registry: who may do what, for which
// tenant, until when and how fast.
//
// A key is vk_<id>_<secret>: the id names it in lists and logs, the secret is
// 256 random bits. The registry has the SHA-256 of the whole, so that nobody who
// reads it can make a request; a secret of 256 bits needs no salt and no slow
// hash. What is known of a key is taken from memory for ten seconds: within them
// a revocation is in force in every process, and at once in the one that revoked.
//
// One item a key: pk KEYS, sk <id>. The item KEYS ON says that there is or was a
// key: from then on there is no way in without one, also when the last has
// expired, been revoked or been forgotten.
package apikeys
