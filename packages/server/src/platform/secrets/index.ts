/** Encryption at rest: the front door. */
export { type ConfiguredKeys, checkKeys, findNeeds, KeysDoNotFitError } from './check-keys.ts'
export { examineSealed, type SealedKind } from './examine-sealed.ts'
export { createKeyRing, type KeyRing, SealedValueError, withRetired } from './key-ring.ts'
export { derivedKeys } from './known-keys.ts'
export { keyIdsOf } from './parse-keys.ts'
export { findNeedless, rotateKeys } from './rotate-keys.ts'
export { type SealedColumn, type SealedRow, sealedText } from './sealed-column.ts'
export { withoutSecrets } from './without-secrets.ts'
