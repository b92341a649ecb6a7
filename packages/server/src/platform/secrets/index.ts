/** Encryption at rest: the front door. */
export { checkKeys, KeysDoNotFitError } from './check-keys.ts'
export { createKeyRing, type KeyRing, SealedValueError } from './key-ring.ts'
export { keyIdsOf } from './parse-keys.ts'
export { withoutSecrets } from './without-secrets.ts'
