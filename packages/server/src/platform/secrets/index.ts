/** Encryption at rest: the front door. */
export { createKeyRing, type KeyRing, SealedValueError } from './key-ring.ts'
